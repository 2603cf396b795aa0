package watch

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// refusalsText writes a line for each participant and reason.
func refusalsText(w io.Writer, all []query.Rejection) {
	if len(all) == 0 {
		fmt.Fprintln(w, "this node has rejected no gradient since it was started")
		return
	}
	command.Table(w, "participant\treason\trounds\tgradients\trounds signed by it\tlast\tthe first of the last round",
		sumRefusals(all), func(x refused) string {
			return fmt.Sprintf("%d\t%s\t%d\t%d\t%d\t%d/%d\t%s", x.Participant, x.Reason, x.rounds, x.count, x.signed, x.Epoch,
				x.Round, command.Plain(x.Log))
		})
}

// refused is the sum of the rejections of one participant for one reason. The Rejection is the last of a gradient that
// the participant signed, or of any if it signed none.
type refused struct {
	query.Rejection
	rounds, count, signed int // signed counts the rounds in which the participant signed a rejected gradient
}

// sumRefusals sums up rejections by participant and reason, in that order.
func sumRefusals(all []query.Rejection) (out []refused) {
	for _, x := range all {
		i := slices.IndexFunc(out, func(r refused) bool { return r.Participant == x.Participant && r.Reason == x.Reason })
		if i < 0 {
			i, out = len(out), append(out, refused{})
		}
		r := &out[i]
		if x.Signed {
			r.signed++
		}
		if r.rounds, r.count = r.rounds+1, r.count+int(x.Count); x.Signed || r.signed == 0 {
			r.Rejection = x
		}
	}
	slices.SortFunc(out, func(a, b refused) int {
		return cmp.Or(cmp.Compare(a.Participant, b.Participant), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
