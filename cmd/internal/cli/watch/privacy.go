package watch

import (
	"fmt"
	"io"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/caveat"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/privacy/accountant"
)

// PrivacyText prints the participants' spends, and a warning if epsilon is not a guarantee.
func PrivacyText(w io.Writer, all []query.Spend) {
	guaranteed, known := true, true
	command.Table(w, "participant\tmoniker\tparticipations\tepsilon\tbudget\tdelta\tbudget pays", all,
		func(s query.Spend) string {
			epsilon, left := "-", "-"
			if s.Epsilon != nil && s.Left != nil {
				epsilon, left = accountant.Text(*s.Epsilon), fmt.Sprintf("%d more", *s.Left)
			}
			guaranteed, known = guaranteed && s.Guarantee, known && s.Epsilon != nil
			return fmt.Sprintf("%d\t%q\t%d\t%s\t%g\t%g\t%s", s.Participant, s.Moniker, s.Participations, epsilon, s.Budget,
				s.Delta, left)
		})

	var said []string
	if slices.ContainsFunc(all, func(s query.Spend) bool { return s.TrainerClips }) {
		said = append(said, caveat.TrainerClips)
	}
	if len(all) > 0 && all[0].Unit == params.UnitGroup {
		said = append(said, caveat.Groups)
	}
	if len(all) > 0 && all[0].Lemma1Epsilon != 0 {
		said = append(said, caveat.Lemma1(all[0].Lemma1Epsilon))
	}
	switch {
	case guaranteed:
	case !known:
		said = append(said, "NO DP GUARANTEE: an epoch of this chain had no noise, or no ledger of it")
	default:
		said = append(said, caveat.TestChain)
	}
	for _, line := range said {
		fmt.Fprintln(w, line)
	}
}
