package tx

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
)

// checkNew returns an error if an open proposal proposes the same as a transaction that is to be sent.
// It leaves it to the node to decide where the node does not list the open proposals.
func (s *sender) checkNew(ctx context.Context, b tx.Body) error {
	content, err := proposed(b)
	if err != nil || content == nil || s.options.dryRun {
		return err
	}
	m, err := s.Membership(ctx)
	if err != nil {
		return nil
	}
	return checkDuplicate(m, tx.KindOf(b), content)
}

// checkDuplicate returns an error if an open proposal of a kind has the content, as proposed returns it.
func checkDuplicate(m query.Membership, kind tx.Kind, content []byte) error {
	for _, p := range m.Proposals {
		if p.Kind != kind.String() {
			continue
		}
		body, err := p.Body()
		if err != nil {
			return err
		}
		open, err := proposed(body)
		if err != nil || open == nil || !bytes.Equal(open, content) {
			continue
		}
		next := "each member approves it by spdl tx approve " + p.ID
		if p.Accepted {
			next = "it is accepted, and takes effect at a round boundary"
		}
		return fmt.Errorf("proposal %.8s (%s) of height %d proposes the same, approved by %s: %s", p.ID, p.Kind, p.Height,
			approvers(m, p), next)
	}
	return nil
}

// proposed returns the content of a proposal without its proposer and nonce, so that equal proposals of
// different members have equal bytes. It returns nil for a transaction that needs no approvals.
func proposed(b tx.Body) ([]byte, error) {
	content, err := b.Marshal()
	if err != nil {
		return nil, err
	}
	same, err := tx.DecodeBody(tx.KindOf(b), content) // a copy
	if err != nil {
		return nil, err
	}
	switch c := same.(type) {
	case *tx.Join:
	case *tx.Remove:
		if c.Participant == c.Subject { // the member leaves
			return nil, nil
		}
		c.Participant, c.Nonce = 0, 0
	case *tx.Restore:
		c.Participant, c.Nonce = 0, 0
	case *tx.StartEpoch:
		c.Participant, c.Nonce = 0, 0
	case *tx.Upgrade:
		c.Participant, c.Nonce = 0, 0
	default:
		return nil, nil
	}
	return same.Marshal()
}
