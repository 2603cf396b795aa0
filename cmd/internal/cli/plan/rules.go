package plan

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// RuleReport states whether a rule is usable and resilient for N participants, f of them Byzantine.
type RuleReport struct {
	Name   string `json:"name"`
	Usable bool   `json:"usable"`        // it can aggregate N-f gradients
	Holds  bool   `json:"holds"`         // it is usable, and its resilience condition holds
	Why    string `json:"why,omitempty"` // the reason why the condition fails
	Cost   string `json:"cost"`
	Source string `json:"source"`
}

// Rules returns the command that lists the aggregation rules.
func Rules() *cobra.Command {
	o := &rulesOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "rules",
		Short: "List the aggregation rules, with their cost and resilience",
		Long: "List the aggregation rules: what their work grows with, where they were published, and whether their " +
			"resilience conditions hold\n" +
			"for f Byzantine of N participants. A rule whose condition fails may be used, with a warning; one that cannot " +
			"aggregate\n" +
			"N-f gradients may not. N' is the number of buckets, half of N rounded up.",
		Example: "  spdl rules --validators 20\n  spdl rules --validators 10 --byzantine 2 -o json",
	}, o.run)
	command.Flag(cmd, &o.validators, "validators", 4, "participants, N")
	command.Optional(cmd, &o.byzantine, "byzantine", "Byzantine participants to withstand, f (default: (N-1)/3)")
	return cmd
}

// withstand returns the beginning of a sentence about the number of Byzantine participants that n
// participants withstand.
func withstand(n int) string {
	if n == 1 {
		return "1 participant withstands"
	}
	return fmt.Sprintf("%d participants withstand", n)
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
		return command.Usage(fmt.Errorf("--byzantine is %d, want 0 to %d: %s %d (N >= 3f+1)", f, n-1,
			withstand(n), params.MaxByzantine(n)))
	}
	all, err := ruleReports(n, f)
	if err != nil {
		return err
	}
	return r.Show(all, func(w io.Writer) error { return rulesText(w, all, n, f) })
}

func ruleReports(n, f int) (all []RuleReport, err error) {
	for _, name := range rules.Names() {
		r, err := rules.Lookup(name)
		if err != nil {
			return nil, err
		}
		x := RuleReport{Name: name, Usable: r.Feasible(n, f, n-f) == nil, Cost: r.Cost(), Source: r.Source()}
		if why := r.Condition(n, f); why != nil {
			x.Why = strings.ReplaceAll(why.Error(), "rules: ", "") // bucketing wraps the error twice
		}
		x.Holds = x.Usable && x.Why == ""
		all = append(all, x)
	}
	return all, nil
}

func rulesText(w io.Writer, all []RuleReport, n, f int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "rule\tN=%d f=%d\tcost\tsource\n", n, f)
	for _, r := range all {
		fit := "condition holds"
		switch {
		case !r.Usable:
			fit = "CANNOT AGGREGATE" + wanted(r)
		case !r.Holds:
			fit = "condition fails" + wanted(r)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Name, fit, r.Cost, r.Source)
	}
	return t.Flush()
}

// wanted returns the requirement of a rule's condition on N, or on the number of buckets, N', if it
// is about buckets.
func wanted(r RuleReport) string {
	_, want, ok := strings.Cut(r.Why, "want ")
	if !ok {
		return ""
	}
	if strings.Contains(r.Why, "N' = ") {
		want = strings.Replace(want, "N ", "N' ", 1)
	}
	return ": wants " + want
}
