package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/tx"
)

func printRaw(w io.Writer, raw []byte) error {
	_, err := fmt.Fprintln(w, base64.StdEncoding.EncodeToString(raw))
	return err
}

// outlook says what a transaction that a block holds leads to: made already,
// dropped by the rules of the round boundary, or what it waits for.
func (s *sender) outlook(ctx context.Context, t *tx.Tx, r *report) (string, error) {
	if t.Kind() == tx.KindEvidence {
		return "the participant's reputation is 0: spdl query evidence", nil
	}
	change, err := s.ChangeAt(ctx, r.Height, r.Proposal)
	switch {
	case err != nil:
		return "", err
	case change != nil && change.Refused != "":
		return "", fmt.Errorf("dropped at the round boundary of height %d: %s", change.Height, change.Refused)
	case change != nil:
		return fmt.Sprintf("in force since height %d", change.Height), nil
	}
	m, err := s.Membership(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range m.Proposals {
		if p.ID == r.Proposal {
			return awaits(m, p), nil
		}
	}
	return fmt.Sprintf("made or dropped after height %d: spdl query membership", r.Height), nil
}

// awaits says what a proposal waits for. Approvals count of those who are
// active.
func awaits(m abci.Membership, p abci.Motion) string {
	switch {
	case p.Accepted && p.Kind == tx.KindStartEpoch.String():
		return "accepted: opens at the next round boundary with --now, else when training is finished"
	case p.Accepted:
		return "accepted: made at the next round boundary"
	}
	standing := 0
	for _, q := range m.Members {
		if q.Active && slices.Contains(p.Approvals, q.Index) {
			standing++
		}
	}
	return fmt.Sprintf("needs %d more approvals of active participants, has %d of %d: spdl tx approve %s", m.Threshold-standing, standing, m.Threshold, p.ID)
}
