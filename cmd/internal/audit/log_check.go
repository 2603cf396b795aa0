package audit

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/app/tx"
)

// A Root returns the header that a reader of a file trusts, given the id of the file's chain and the first header that
// the file carries.
type Root func(chainID string, first *types.LightBlock) (light.Trust, error)

// Pinned trusts a header. If it names no chain, the file may be of any.
func Pinned(t light.Trust) Root {
	return func(chainID string, _ *types.LightBlock) (light.Trust, error) {
		own := t
		own.ChainID = cmp.Or(t.ChainID, chainID)
		return own, nil
	}
}

// Founded trusts the validators of a genesis.
func Founded(doc *types.GenesisDoc) Root {
	return func(_ string, first *types.LightBlock) (light.Trust, error) { return light.Genesis(doc, first) }
}

// Trusted returns the headers of the log that follow from a root.
func (l *Log) Trusted(root Root) (light.Headers, light.Trust, error) {
	blocks, err := l.Blocks()
	if err == nil && len(blocks) == 0 {
		err = fmt.Errorf("%w: it has no headers", ErrLog)
	}
	if err != nil {
		return nil, light.Trust{}, err
	}
	t, err := root(l.ChainID, blocks[0])
	if err != nil {
		return nil, t, err
	}
	headers, err := light.HeldHeaders(t, blocks)
	return headers, t, err
}

// Proof is what the reader of a log has proven.
type Proof struct {
	Entries   int   `json:"entries"`
	Approvals int   `json:"approvals"`
	Headers   int   `json:"headers"` // that entries lead to
	First     int64 `json:"first_header"`
	Last      int64 `json:"last_header"`
}

// Check proves every entry: its proof and a trusted header show that its bytes are on the chain at
// its height, and the bytes say what the entry says. Every approval must also be such an entry. The
// monikers, the results and the founders are not in the bytes, so Check does not prove them.
func (l *Log) Check(ctx context.Context, trusted light.Headers) (Proof, error) {
	var p Proof
	approved := map[Approval]string{} // by approval, the proposal that the participant approved in a transaction
	headers := map[uint64]*types.LightBlock{}
	for i, e := range l.Entries {
		if i > 0 && e.Height < l.Entries[i-1].Height {
			return p, e.fault(i, fmt.Errorf("the entry before is of height %d", l.Entries[i-1].Height))
		}
		b := headers[e.Height]
		if b == nil {
			var err error
			if b, err = trusted.Header(ctx, int64(e.Height)); err != nil {
				return p, e.fault(i, err)
			}
			headers[e.Height] = b
		}
		if err := e.check(b); err != nil {
			return p, e.fault(i, err)
		}
		if e.Actor != nil && e.Proposal != "" {
			approved[Approval{Participant: *e.Actor, Height: e.Height, Hash: e.Hash}] = e.Proposal
		}
		if p.Entries++; p.First == 0 {
			p.First = b.Height
		}
		p.Last = b.Height
	}
	for i, e := range l.Entries {
		for _, a := range e.Approvals {
			if approved[Approval{Participant: a.Participant, Height: a.Height, Hash: a.Hash}] != e.Proposal {
				return p, e.fault(i, fmt.Errorf("no entry is the approval of participant %d at height %d by %s", a.Participant,
					a.Height, a.Hash))
			}
			if b := headers[a.Height]; !b.Time.Equal(a.Time) {
				return p, e.fault(i, fmt.Errorf("the approval of participant %d is of %v, its header of %v", a.Participant,
					a.Time, b.Time))
			}
			p.Approvals++
		}
	}
	p.Headers = len(headers)
	return p, nil
}

// fault returns an error about entry i.
func (e *Entry) fault(i int, err error) error {
	return fmt.Errorf("%w: entry %d, a %s at height %d: %w", ErrLog, i, e.Kind, e.Height, err)
}

// check proves an entry by a trusted header of its height.
func (e *Entry) check(b *types.LightBlock) error {
	if !b.Time.Equal(e.Time) {
		return fmt.Errorf("it says %v, the header %v", e.Time, b.Time)
	}
	own, root, leaf, err := e.read(b)
	if err != nil {
		return err
	}
	if err := e.Proof.Verify(root, leaf); err != nil {
		return fmt.Errorf("its proof does not lead to the header's %X: %w", root, err)
	}
	differs := func(what, said, is string) error { return fmt.Errorf("it says %s %q, its bytes %q", what, said, is) }
	switch {
	case own.Kind != e.Kind:
		return differs("kind", e.Kind, own.Kind)
	case own.Summary != e.Summary:
		return differs("summary", e.Summary, own.Summary)
	case own.Proposal != e.Proposal:
		return differs("proposal", e.Proposal, own.Proposal)
	case own.Hash != e.Hash:
		return differs("hash", e.Hash, own.Hash)
	case actor(own.Actor) != actor(e.Actor):
		return differs("actor", actor(e.Actor), actor(own.Actor))
	case !maps.Equal(own.Details, e.Details):
		return differs("details", fmt.Sprint(e.Details), fmt.Sprint(own.Details))
	}
	return nil
}

// read returns what the entry's bytes say. It also returns the leaf that the bytes are, and the
// root in the header to which its proof must lead.
func (e *Entry) read(b *types.LightBlock) (own Entry, root, leaf []byte, err error) {
	if e.Kind == kindEvidence {
		ev, err := decodeEvidence(e.Raw)
		if err != nil {
			return own, nil, nil, err
		}
		own, err = evidenceEntry(ev)
		return own, b.EvidenceHash, ev.Bytes(), err
	}
	t, err := tx.Decode(e.Raw)
	if err != nil {
		return own, nil, nil, err
	}
	own, err = entryOf(t)
	if err == nil && e.Kind == tx.KindJoin.String() && t.Kind() == tx.KindApprove {
		own, err = carriedIn(t)
	}
	hash := types.Tx(e.Raw).Hash()
	own.Hash = hex.EncodeToString(hash)
	return own, b.DataHash, hash, err
}

// actor returns a participant as text, or "nobody".
func actor(participant *uint32) string {
	if participant == nil {
		return "nobody"
	}
	return fmt.Sprint(*participant)
}
