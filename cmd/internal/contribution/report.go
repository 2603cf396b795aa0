package contribution

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/printable"
)

// Report says what each member's gradients added over the rounds. All values are in nats of the
// mean cross-entropy on the test set; positive values made the model better.
type Report struct {
	ChainID      string   `json:"chain_id"`
	Rounds       uint64   `json:"rounds"`
	TestExamples int      `json:"test_examples"`
	TestHash     string   `json:"test_hash"`   // of images and labels, on which the members agree
	InputsHash   string   `json:"inputs_hash"` // of the inputs as the model gets them; equal hashes mean equal reports
	Permutations int      `json:"permutations"`
	Seed         uint64   `json:"seed"`
	Improvement  float64  `json:"improvement"` // by all Deltas, over rounds without gradients
	Copied       float64  `json:"copied"`      // the part of Improvement from copied gradients, credited to no member
	Rest         float64  `json:"rest"`        // the part of Improvement that no weighted sum of gradients explains
	Members      []Member `json:"members"`
}

// Member is the part of a participant.
type Member struct {
	Participant uint32   `json:"participant"`
	Moniker     string   `json:"moniker"`
	Rounds      int      `json:"rounds"` // that included it
	Weight      float64  `json:"weight"` // the mean weight of its gradients in Delta
	Shapley     Value    `json:"shapley"`
	LeaveOneOut Value    `json:"leave_one_out"`
	Copied      int      `json:"copied"` // rounds in which its gradient repeated another
	CopiedFrom  []uint32 `json:"copied_from,omitempty"`
}

// Report returns the estimate after the rounds so far. The last state gives the members' names.
func (e *Estimator) Report(last *app.State) Report {
	r := e.report
	r.Permutations, r.Seed = 2*e.options.Pairs, e.options.Seed
	r.ChainID, r.Members = last.ChainID, []Member{}
	for i, p := range last.Participants {
		m := e.member(uint32(i))
		row := Member{Participant: p.Index, Moniker: p.Moniker, Rounds: len(m.shapley), Weight: m.weights.mean(),
			Shapley: m.shapley.sum(), LeaveOneOut: m.leaveOneOut.sum(), Copied: m.copied,
			CopiedFrom: slices.Sorted(maps.Keys(m.from))}
		r.Members = append(r.Members, row)
	}
	return r
}

// tidy returns 0 for a value that is printed as 0, because it could have a minus sign.
func tidy(v float64) float64 {
	if math.Abs(v) < 5e-6 {
		return 0
	}
	return v
}

// String returns the value with its interval.
func (v Value) String() string {
	if v.Half == nil {
		return fmt.Sprintf("%+.5f", tidy(v.Sum))
	}
	return fmt.Sprintf("%+.5f ± %.5f", tidy(v.Sum), *v.Half)
}

// Text prints the report as a table.
func (r Report) Text(w io.Writer) {
	fmt.Fprintf(w, "chain         %s, %d rounds\ntest set      %d examples, hash %s\ninputs        hash %s\n"+
		"permutations  %d a round, seed %d\n", printable.Text(r.ChainID), r.Rounds, r.TestExamples, r.TestHash,
		r.InputsHash, r.Permutations, r.Seed)
	fmt.Fprintf(w, "improvement   %+.5f nats by all gradients:\n              %+.5f by the members\n"+
		"              %+.5f by copied gradients\n              %+.5f by what no weighting of gradients explains\n\n",
		tidy(r.Improvement), tidy(r.Improvement-r.Copied-r.Rest), tidy(r.Copied), tidy(r.Rest))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "participant\tmoniker\trounds\tweight\tShapley value\tleave-one-out\tcopied")
	for _, m := range r.Members {
		fmt.Fprintf(t, "%d\t%s\t%d\t%.4f\t%v\t%v\t%s\n", m.Participant, printable.Text(m.Moniker), m.Rounds, m.Weight,
			m.Shapley, m.LeaveOneOut, m.copyText())
	}
	_ = t.Flush()
	fmt.Fprintln(w, "\nvalues in nats of the test loss, with 95 % intervals; a value whose interval holds 0 is "+
		"not told from 0")
}

// copyText says how many of a member's gradients were copies, and of which participants.
func (m Member) copyText() string {
	if m.Copied == 0 {
		return "0"
	}
	from := strings.ReplaceAll(strings.Trim(fmt.Sprint(m.CopiedFrom), "[]"), " ", ", ")
	return fmt.Sprintf("%d, of participant %s", m.Copied, from)
}

// CSV writes a line for each member.
func (r Report) CSV(w io.Writer) {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"participant", "moniker", "rounds", "weight", "shapley", "shapley_half_width", "leave_one_out",
		"leave_one_out_half_width", "copied"})
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	half := func(v Value) string {
		if v.Half == nil {
			return ""
		}
		return number(*v.Half)
	}
	for _, m := range r.Members {
		_ = out.Write([]string{fmt.Sprint(m.Participant), printable.Cell(m.Moniker), fmt.Sprint(m.Rounds), number(m.Weight),
			number(m.Shapley.Sum), half(m.Shapley), number(m.LeaveOneOut.Sum), half(m.LeaveOneOut), fmt.Sprint(m.Copied)})
	}
	out.Flush()
}
