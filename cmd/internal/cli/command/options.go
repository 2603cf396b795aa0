package command

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// upper replaces the hyphens of a flag's name by underscores, as in its environment variable.
var upper = strings.NewReplacer("-", "_")

// fill decodes flags and their environment into the options struct that o points
// to. A key without a field, a field without a key and a value of the wrong type
// are errors.
func fill(flags *pflag.FlagSet, o any) error {
	v := viper.New()
	v.SetEnvPrefix("SPDL")
	v.SetEnvKeyReplacer(upper)
	v.AutomaticEnv()
	optional := map[string]bool{}
	pointers(reflect.TypeOf(o).Elem(), optional)
	given := map[string]any{}
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		err = errors.Join(err, v.BindPFlag(f.Name, f))
		if f.Changed && f.Value.Type() == "string" && f.Value.String() == "" { // as from an unset shell variable
			err = errors.Join(err, Usage(fmt.Errorf("--%s is empty: leave it out for its default", f.Name)))
		}
		given[f.Name] = nil
		if !optional[f.Name] || v.IsSet(f.Name) {
			given[f.Name] = v.Get(f.Name)
		}
		if v.IsSet(f.Name) && !f.Changed { // set by the environment, which is parsed as the flag is
			if wrong := f.Value.Set(v.GetString(f.Name)); wrong != nil {
				err = errors.Join(err, Usage(fmt.Errorf("SPDL_%s is %q, want %s", upper.Replace(strings.ToUpper(f.Name)),
					v.GetString(f.Name), want(f, wrong))))
			}
		}
	})
	if err != nil {
		return err
	}
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: o, WeaklyTypedInput: true, ErrorUnused: true, ErrorUnset: true,
		MatchName: func(key, field string) bool { return key == field },
		DecodeHook: mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(),
			mapstructure.StringToSliceHookFunc(",")),
	})
	if err != nil {
		return err
	}
	if err := d.Decode(given); err != nil {
		return Usage(fmt.Errorf("options: %w", err))
	}
	return nil
}

// pointers adds the keys of a struct's pointer fields.
func pointers(t reflect.Type, keys map[string]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		switch {
		case f.Anonymous:
			pointers(f.Type, keys)
		case f.Type.Kind() == reflect.Pointer:
			keys[key] = true
		}
	}
}

// Positive rejects 0 for an option whose default applies if it is left out.
func Positive[T int | uint64 | float64](name string, given *T) error {
	if given != nil && *given == 0 {
		return Usage(fmt.Errorf("--%s is 0, want above 0, or leave it out for its default", name))
	}
	return nil
}
