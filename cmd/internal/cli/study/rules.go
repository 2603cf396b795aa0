package study

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// RuleReport states whether a rule is usable and resilient for N participants, f of them Byzantine.
type RuleReport struct {
	Name   string `json:"name"`
	Usable bool   `json:"usable"`          // it can aggregate N-f gradients
	Holds  bool   `json:"holds"`           // it is usable, and its resilience condition holds
	Why    string `json:"why,omitempty"`   // the reason why the condition fails
	Lacks  string `json:"lacks,omitempty"` // the reason why it cannot aggregate
	Cost   string `json:"cost"`
	Source string `json:"source"`
}

// Rules returns the command that lists the aggregation rules.
func Rules() *cobra.Command {
	o := &rulesOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "rules",
		Short: "List the aggregation rules, with their cost and resilience",
		Long: `List the aggregation rules: what their work grows with, where they were published, and whether their
resilience conditions hold for f Byzantine of N participants. A rule whose condition fails may be used, with a
warning; one that cannot aggregate N-f gradients may not. N' is the number of buckets, half of N rounded up.`,
		Example: "  spdl rules --validators 20\n  spdl rules --validators 10 --byzantine 2 -o json",
	}, o.run)
	command.Flag(cmd, &o.validators, "validators,n", 4, "participants, N")
	command.Optional(cmd, &o.byzantine, "byzantine,f", "Byzantine participants to withstand, f (default: (N-1)/3)")
	return cmd
}

type rulesOptions struct {
	validators int
	byzantine  *int
}

func (o *rulesOptions) run(r *command.Run, _ []string) error {
	n := o.validators
	if n < 1 || n > gradients.MaxParticipants {
		return command.Usage(fmt.Errorf("--validators is %d, want 1 to %d", n, gradients.MaxParticipants))
	}
	f := command.Or(o.byzantine, params.MaxByzantine(n))
	if f < 0 || f >= n {
		return command.Usage(fmt.Errorf("--byzantine is %d, want 0 to %d: N = %d withstands %d (N >= 3f+1)", f, n-1, n,
			params.MaxByzantine(n)))
	}
	var all []RuleReport
	for _, name := range rules.Names() {
		rule, err := rules.Lookup(name)
		if err != nil {
			return err
		}
		x := RuleReport{Name: name, Why: reason(rule.Condition(n, f)), Lacks: reason(rule.Feasible(n, f, n-f)),
			Cost: rule.Cost(), Source: rule.Source()}
		x.Usable, x.Holds = x.Lacks == "", x.Lacks+x.Why == ""
		all = append(all, x)
	}
	return r.Show(all, func(w io.Writer) { rulesText(w, all, n, f) })
}

// reason returns an error's text, "" for nil, without the package's name: bucketing wraps an error twice.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "rules: ", "")
}

func rulesText(w io.Writer, all []RuleReport, n, f int) {
	command.Table(w, fmt.Sprintf("rule\tN=%d f=%d\tcost\tsource", n, f), all, func(r RuleReport) string {
		fit := "condition holds"
		if r.Why != "" {
			fit = "condition fails" + wanted(r.Why)
		}
		if !r.Usable {
			fit = "CANNOT AGGREGATE" + wanted(r.Lacks) + "; " + fit
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s", r.Name, fit, r.Cost, r.Source)
	})
}

// wanted returns what a reason says that a rule wants: of N, or of the number of gradients, or in their place of
// buckets, if the reason is about these.
func wanted(why string) string {
	_, want, _ := strings.Cut(why, "want ")
	of := " gradients"
	if strings.Contains(why, "N' = ") {
		want, of = strings.Replace(want, "N ", "N' ", 1), " buckets"
	}
	if strings.HasPrefix(want, "at least") {
		want += of
	}
	return ": wants " + want
}
