package consortium

import (
	"context"
	"fmt"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/wait"
)

// outlook returns the effect of a transaction that a block holds: its proposal was enacted, or
// waits. It fails if the round boundary dropped the proposal.
func (s *sender) outlook(ctx context.Context, t *tx.Tx, r *Report) (string, error) {
	if t.Kind() == tx.KindEvidence {
		return "the participant's reputation is 0: spdl query evidence", nil
	}
	for height, tried := r.Height, 0; ; tried++ {
		done, text, err := s.enacted(ctx, height, r.Proposal)
		if done || err != nil {
			return text, err
		}
		m, err := s.Membership(ctx)
		if err != nil {
			return "", err
		}
		if text := r.waits(m, tried >= boundaryPolls); text != "" {
			return text, nil
		}
		status, err := s.Status(ctx)
		if err != nil {
			return "", err
		}
		if int64(status.Height) > height { // the round boundary may be in the next block
			height++
			continue
		}
		if err := wait.For(ctx, pollInterval); err != nil {
			return "", err
		}
	}
}

// waits returns the text of the event for which the proposal waits, "" if a round boundary may
// still decide it. If last is set, the caller does not ask again, and the text is never empty.
func (r *Report) waits(m query.Membership, last bool) string {
	at := slices.IndexFunc(m.Proposals, func(p query.Proposal) bool { return p.ID == r.Proposal })
	switch {
	case at >= 0 && (last || !m.Proposals[at].Accepted || m.Proposals[at].Kind == tx.KindStartEpoch.String()):
		return awaits(m, m.Proposals[at])
	case last:
		return fmt.Sprintf("made or dropped after height %d: spdl query proposals", r.Height)
	}
	return ""
}

// boundaryPolls is the max number of polls for the enactment of an accepted proposal.
const boundaryPolls = 50

// enacted reports whether the block of a height ended a proposal, with a text if it was enacted or
// withdrawn, and an error if it was dropped or has expired.
func (s *sender) enacted(ctx context.Context, height int64, proposal string) (done bool, text string, err error) {
	e, err := s.EnactmentAt(ctx, height, proposal)
	switch {
	case err != nil || e == nil:
		return false, "", err
	case e.Discarded == "withdrawn":
		return true, fmt.Sprintf("the proposal is withdrawn since height %d: no approval that counts is left", e.Height), nil
	case e.Discarded != "":
		return true, "", fmt.Errorf("the proposal has expired at height %d", e.Height)
	case e.Refused != "":
		return true, "", fmt.Errorf("dropped at the round boundary of height %d: %s", e.Height, e.Refused)
	case e.Kind == tx.KindRemove.String():
		return true, fmt.Sprintf("in force since height %d; the validator still votes on the next block: stop its node "+
			"after height %d", e.Height, e.Height+1), nil
	case e.Kind == tx.KindUpgrade.String():
		return true, fmt.Sprintf("agreed since height %d, for the height of the upgrade: spdl query upgrade", e.Height), nil
	}
	return true, fmt.Sprintf("in force since height %d", e.Height), nil
}

// awaits returns the text of the event that a proposal waits for. Only approvals of active participants count.
func awaits(m query.Membership, p query.Proposal) string {
	switch {
	case p.Accepted && p.Kind == tx.KindStartEpoch.String():
		return "accepted: opens when the training is finished, or at the next round boundary with --now"
	case p.Accepted:
		return "accepted: made at the next round boundary"
	}
	standing := 0
	for _, q := range m.Members {
		if q.Active && slices.Contains(p.Approvals, q.Index) {
			standing++
		}
	}
	s := map[bool]string{false: "s"}[m.Threshold-standing == 1]
	return fmt.Sprintf("needs %d more approval%s of active participants, has %d of %d: spdl tx approve %s, by "+
		"each; spdl query proposals shows who approved",
		m.Threshold-standing, s, standing, m.Threshold, p.ID)
}
