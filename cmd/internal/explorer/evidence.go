package explorer

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"time"

	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// offenceLine is an offence that the chain has proven.
type offenceLine struct {
	app.Offence
	Who *app.Participant
	At  time.Time // time of the block that proved it; zero if the node does not have that block
	*proof
}

// proof is the proof of an offence on the chain.
type proof struct {
	Hash string      // of the transaction, "" if CometBFT proved the offence
	Pair *statements // nil if the node does not have them
}

// evidence shows every proven offence, newest first.
func (s *Server) evidence(r *http.Request) (content, error) {
	offences, err := known[[]app.Offence](r.Context(), s.source, "/evidence")
	if err != nil {
		return content{}, err
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	b := struct {
		Lines []offenceLine
		Pager pager
	}{}
	offences = slices.Clone(offences)
	slices.Reverse(offences)
	if offences, b.Pager, err = pageOf(r, offences); err != nil {
		return content{}, err
	}
	for _, o := range offences {
		l := offenceLine{Offence: o, Who: whoOf(people, &o.Participant), proof: s.source.proofOf(r.Context(), o)}
		l.At = s.source.times(r.Context(), o.Height, o.Height)[o.Height]
		b.Lines = append(b.Lines, l)
	}
	return content{"evidence", "Evidence", b}, nil
}

// Means says what an offence means.
func (l offenceLine) Means() string {
	switch {
	case l.Misbehavior != 0:
		return "CometBFT proved it of the participant's validator, which voted for two histories of the chain. " +
			"The participant has lost its reputation."
	case l.Kind == uint32(tx.KindAggregate):
		return "An honest leader signs one aggregate in its turn. With two it could have shown different updates to " +
			"different nodes. The participant has lost its reputation, and may not lead any more."
	}
	return "An honest participant signs one gradient in a round. With two it could have shown different gradients to " +
		"different nodes. The participant has lost its reputation, and may not lead any more."
}

// proofOf returns the proof of an offence on the chain. It caches what it finds.
func (s *source) proofOf(ctx context.Context, o app.Offence) *proof {
	key := fmt.Sprintf("%x/%d/%d", o.Evidence, o.Voted, o.Height)
	if known, ok := s.proofs.Cached(key); ok {
		return known
	}
	out := &proof{}
	if o.Misbehavior != 0 {
		out.Pair = s.votesOf(ctx, o)
	} else {
		out.Hash, out.Pair = s.convicting(ctx, o)
	}
	if out.Pair != nil {
		s.proofs.Put(key, out)
	}
	return out
}

// convicting returns the transaction with a hash, which proved an offence, and the statements in
// it.
func (s *source) convicting(ctx context.Context, o app.Offence) (hash string, pair *statements) {
	page, most := 1, few
	found, err := s.blocks.TxSearch(ctx, fmt.Sprintf("evidence.participant=%d AND tx.height=%d", o.Participant, o.Height),
		false, &page, &most, "")
	if err != nil {
		return "", nil
	}
	for _, x := range found.Txs {
		t, err := tx.Decode(x.Tx)
		if err != nil || string(t.Content[:]) != string(o.Evidence) {
			continue
		}
		if e, ok := t.Body.(*tx.Evidence); ok {
			return hex.EncodeToString(x.Hash), statementsOf(e)
		}
	}
	return "", nil
}

// votesOf returns the two votes of a validator in the evidence of a block. It returns nil if the
// node does not have the block, or if the evidence is of another type.
func (s *source) votesOf(ctx context.Context, o app.Offence) *statements {
	height := int64(o.Height)
	got, err := s.blocks.Block(ctx, &height)
	if err != nil || got.Block == nil {
		return nil
	}
	for _, e := range got.Block.Evidence.Evidence {
		d, ok := e.(*cmttypes.DuplicateVoteEvidence)
		if ok && d.VoteA.ValidatorAddress.String() == addressOf(o.Evidence) && d.Height() == int64(o.Voted) {
			return statementsOfVotes(d)
		}
	}
	return nil
}
