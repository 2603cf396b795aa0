package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Describe returns one line about a block, and one for each proposal that it enacted.
func (n *Net) Describe(b *Block) string {
	var parts []string
	for _, raw := range b.Txs {
		t, err := tx.Decode(raw)
		if err != nil {
			return fmt.Sprintf("height %d: %v\n", b.Height, err)
		}
		if part := n.describeTx(t); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{"empty"}
	}
	line := fmt.Sprintf("height %d: %s", b.Height, strings.Join(parts, "; "))
	if len(b.Rejected) > 0 {
		line += fmt.Sprintf("; proposals of nodes %v rejected", b.Rejected)
	}
	for _, e := range b.Enacted {
		if e.Type != "enactment" && e.Type != "discard" {
			continue
		}
		values := map[string]string{}
		for _, a := range e.Attributes {
			values[a.Key] = a.Value
		}
		if e.Type == "discard" {
			line += fmt.Sprintf("\n  %s: %s", values["cause"], values["kind"])
			continue
		}
		line += fmt.Sprintf("\n  enacted: %s of participant %s", values["kind"], values["participant"])
		if values["refused"] != "" {
			line += ", rejected: " + values["refused"]
		}
	}
	return line + "\n"
}

func (n *Net) describeTx(t *tx.Tx) string {
	switch b := t.Body.(type) {
	case *tx.Aggregate:
		missing := ""
		var in []uint32
		for _, i := range b.Included {
			in = append(in, i.Participant)
		}
		for i := range uint32(len(n.State().Participants)) {
			if !slices.Contains(in, i) {
				missing += fmt.Sprintf(" %d", i)
			}
		}
		if missing != "" {
			missing = ", without" + missing
		}
		return fmt.Sprintf("epoch %d round %d closed by %d in view %d%s", b.Epoch, b.Round, b.Leader, b.View, missing)
	case *tx.Gradient:
		return ""
	case *tx.Commit:
		return fmt.Sprintf("%d is committed", b.Participant)
	}
	d, err := app.Describe(t)
	if err != nil {
		return err.Error()
	}
	return d.Summary
}

// Summary returns one line about the state of the chain.
func (n *Net) Summary() string {
	s := n.State()
	var b strings.Builder
	fmt.Fprintf(&b, "height %d, epoch %d round %d of %d, N %d f %d, %d validators, ranking %v\n",
		n.Height(), s.Progress.Epoch, s.Progress.Round, s.Params.Training.Rounds, s.Active(), s.F(), len(n.validators),
		s.Progress.Ranking)
	for _, p := range s.Participants {
		state := "active"
		if !p.Active {
			state = "gone"
		}
		if p.Active && len(s.Params.Privacy.Cost) > 0 {
			state += fmt.Sprintf(", budget for %d more", s.Params.Privacy.Participations(p.Spent))
		}
		fmt.Fprintf(&b, "  %d %s: reputation %d, %d participations, %s\n", p.Index, p.Moniker, p.Reputation, p.Participations,
			state)
	}
	for _, p := range s.Proposals {
		fmt.Fprintf(&b, "  waits: %s, approvals %v, accepted %t\n", tx.Kind(p.Kind), p.Approvals, p.Accepted)
	}
	for _, u := range s.Progress.Upgrades {
		fmt.Fprintf(&b, "  upgrade %q to version %d at height %d\n", u.Name, u.Version, u.Height)
	}
	for _, o := range s.Offences {
		fmt.Fprintf(&b, "  offence of %d: two %ss for epoch %d round %d\n", o.Participant, tx.Kind(o.Kind), o.Epoch, o.Round)
	}
	for _, e := range s.Epochs {
		fmt.Fprintf(&b, "  epoch %d: %d rounds, heights %d to %d, model %X\n", e.Epoch, e.Rounds, e.Opened, e.Closed,
			e.ModelHash[:4])
	}
	return b.String()
}
