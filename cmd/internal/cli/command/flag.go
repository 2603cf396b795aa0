package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spdl/spdl/internal/spelling"
)

// Value is the type of a flag's variable.
type Value interface {
	string | bool | int | int64 | uint64 | float64 | time.Duration | []string | []int | []float64
}

// Flag declares a flag of a command, which sets a variable. The name may have a shorthand, as
// "participants,n". Without the flag the variable has the given default.
func Flag[T Value](cmd *cobra.Command, variable *T, name string, otherwise T, help string) *Option {
	return declare(cmd, cmd.Flags(), name, help, option(variable, otherwise))
}

// Optional declares a flag that has no default: without the flag its variable is nil.
func Optional[T Value](cmd *cobra.Command, variable **T, name, help string) *Option {
	var none T
	value := new(T)
	o := option(value, none)
	o.variable, o.hold = variable, holding(variable)
	o.given = func() { *variable = value }
	return declare(cmd, cmd.Flags(), name, help, o)
}

// Option is a declared flag, with pflag's own value of its type.
type Option struct {
	pflag.Value
	cmd      *cobra.Command
	flag     *pflag.Flag
	variable any           // pointer to the variable that the flag sets
	given    func()        // called when the flag is given; may be nil
	hold     func() func() // returns a function that sets the variable to its present value

	positive, required bool
	known              []string // if not nil, the values of the flag, or of its elements
}

// Set sets the variable.
func (o *Option) Set(text string) error {
	err := o.Value.Set(text)
	if err == nil && o.given != nil {
		o.given()
	}
	return err
}

// option returns the option that sets a variable.
func option[T Value](variable *T, otherwise T) *Option {
	return &Option{Value: define(variable, otherwise), variable: variable, hold: holding(variable)}
}

// holding returns the field hold of the option that sets a variable.
func holding[T any](variable *T) func() func() {
	return func() func() {
		held := *variable
		return func() { *variable = held }
	}
}

// define returns pflag's value for a variable.
func define(variable, value any) pflag.Value {
	const name = "flag"
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	switch v := variable.(type) {
	case *string:
		f.StringVar(v, name, value.(string), "")
	case *bool:
		f.BoolVar(v, name, value.(bool), "")
	case *int:
		f.IntVar(v, name, value.(int), "")
	case *int64:
		f.Int64Var(v, name, value.(int64), "")
	case *uint64:
		f.Uint64Var(v, name, value.(uint64), "")
	case *float64:
		f.Float64Var(v, name, value.(float64), "")
	case *time.Duration:
		f.DurationVar(v, name, value.(time.Duration), "")
	case *[]string:
		f.StringSliceVar(v, name, value.([]string), "")
	case *[]int:
		f.IntSliceVar(v, name, value.([]int), "")
	case *[]float64:
		f.Float64SliceVar(v, name, value.([]float64), "")
	}
	return f.Lookup(name).Value
}

// declare adds an option to flags of a command.
func declare(cmd *cobra.Command, flags *pflag.FlagSet, name, help string, o *Option) *Option {
	name, short, _ := strings.Cut(name, ",")
	o.cmd, o.flag = cmd, flags.VarPF(o, name, short, help)
	if o.Type() == "bool" {
		o.flag.NoOptDefVal = "true" // it needs no value
	}
	if o.flag.DefValue == "0s" || o.flag.DefValue == "[]" {
		o.flag.DefValue = "" // so that help does not show it
	}
	return o
}

// Values names all values of the flag, or of its elements. Completion offers them, and others are rejected.
func (o *Option) Values(all ...string) *Option {
	o.known = all
	// it fails only for a flag that does not exist
	_ = o.cmd.RegisterFlagCompletionFunc(o.flag.Name, func(_ *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		list := ""
		if strings.HasSuffix(o.Type(), "Slice") {
			list = typed[:strings.LastIndex(typed, ",")+1]
		}
		offered := slices.Clone(all)
		for i := range offered {
			offered[i] = list + offered[i]
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	})
	return o
}

// Required rejects a command line, and an environment, without the flag.
func (o *Option) Required() *Option {
	o.required = true
	_ = o.cmd.MarkFlagRequired(o.flag.Name) // for completion; it fails only for a flag that does not exist
	return o
}

// Positive rejects a number or a duration that is not above 0.
func (o *Option) Positive() *Option {
	o.positive = true
	return o
}

// check rejects a given value.
func (o *Option) check() error {
	text := o.String()
	switch {
	case text == "" && o.Type() == "string": // as from an unset shell variable
		return fmt.Errorf("--%s is empty: leave it out for its default", o.flag.Name)
	case o.positive && (text == "0" || text == "0s" || text == "NaN" || text[0] == '-'):
		return fmt.Errorf("--%s is %s, want above 0, or leave it out for its default", o.flag.Name, text)
	}
	given := []string{text}
	if list, ok := o.variable.(*[]string); ok {
		given = *list
	}
	for _, value := range given {
		if o.known != nil && !slices.Contains(o.known, value) {
			some := slices.DeleteFunc(slices.Clone(o.known), func(x string) bool { return strings.Contains(x, "+") })
			want := "want one of " + strings.Join(some, ", ")
			if len(some) > 20 {
				want = "--help lists all"
			}
			return fmt.Errorf("--%s is %q%s, %s", o.flag.Name, value, spelling.Suggest(value, o.known), want)
		}
	}
	return nil
}

// TableFlags declares --label and --group, which name two columns of a CSV file with training data, and --schema in
// place of both. more is added to what it says.
func TableFlags(cmd *cobra.Command, label, group, schema *string, more string) {
	Flag(cmd, schema, "schema", "", "JSON file of the table that the members agreed on: columns, bounds, categories, "+
		"classes; in place of --label and --group"+more)
	Flag(cmd, label, "label", "", "column of the labels in the file")
	Flag(cmd, group, "group", "", "column of the file that names the group of a row, as patient_id: the unit of privacy "+
		"is then a group and not an example; a folder of images names its groups in train-groups.csv")
}
