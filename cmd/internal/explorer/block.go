package explorer

import (
	"context"
	"fmt"
	"net/http"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// blockPage is a block with its transactions, events and votes, and the round that it closed.
type blockPage struct {
	Hash        string
	Header      cmttypes.Header
	Bytes       int
	Proposer    *app.Participant
	Votes       *votes // the votes on this block; nil if the node does not have them
	Txs         []txLine
	Pager       pager
	Events      []eventLine
	Results     bool
	Closed      *chainview.Point
	Evidence    int
	Older, Next int64 // heights; 0 if there is no such block
}

// block shows a block.
func (s *Server) block(r *http.Request) (content, error) {
	x, err := number("height", r.PathValue("height"))
	if err != nil {
		return content{}, err
	}
	height := int64(x)
	got, err := s.source.blocks.Block(r.Context(), &height)
	if err != nil {
		return content{}, err
	}
	if got.Block == nil {
		return content{}, fmt.Errorf("%w: block %d", errNotFound, height)
	}
	b := blockPage{Hash: got.BlockID.Hash.String(), Header: got.Block.Header, Bytes: got.Block.Size(),
		Evidence: len(got.Block.Evidence.Evidence), Older: height - 1, Closed: s.closedAt()[x],
		Votes: s.source.votesOn(r.Context(), height)}
	if status, _, _, err := s.tail.now(); err == nil && x < status.Height {
		b.Next = height + 1
	}
	if who, err := s.source.owners(r.Context()); err == nil {
		b.Proposer = who[got.Block.ProposerAddress.String()]
	}
	results, err := s.source.blocks.BlockResults(r.Context(), &height)
	if err == nil {
		b.Results, b.Events = true, eventsOf(results.FinalizeBlockEvents)
	} else if !absent(err) {
		return content{}, err
	}
	txs, at, err := pageOf(r, got.Block.Txs)
	if err != nil {
		return content{}, err
	}
	b.Pager = at
	for i, raw := range txs {
		var result *abcitypes.ExecTxResult
		if n := at.From - 1 + i; b.Results && n < len(results.TxsResults) {
			result = results.TxsResults[n]
		}
		b.Txs = append(b.Txs, lineOf(raw, result))
	}
	if who, err := s.source.participants(r.Context()); err == nil {
		for i := range b.Txs {
			b.Txs[i].Who = whoOf(who, b.Txs[i].Sender)
		}
	}
	return content{"block", fmt.Sprintf("Block %d", height), b}, nil
}

// votes are the precommits on a block, from its successor or, for the last block, from this node.
type votes struct {
	Round           int32 // the consensus round: how often the proposer changed
	Signed, Missing []signer
	Unknown         int // validators without a precommit, if the node does not have the validator set
}

// Of returns the number of validators of the height.
func (v votes) Of() int { return len(v.Signed) + len(v.Missing) + v.Unknown }

// signer is a validator with its participant, or nil if the explorer knows none.
type signer struct {
	Address string
	Who     *app.Participant
}

// votesOn returns the votes on the block of a height, or nil if the node does not have them.
func (s *source) votesOn(ctx context.Context, height int64) *votes {
	got, err := s.blocks.Commit(ctx, &height)
	if err != nil || got.Commit == nil {
		return nil
	}
	who, err := s.owners(ctx)
	if err != nil {
		return nil
	}
	all, _, err := s.validatorsAt(ctx, &height)
	named := err == nil && len(all) == len(got.Commit.Signatures)
	out := &votes{Round: got.Commit.Round}
	for i, v := range got.Commit.Signatures {
		address := v.ValidatorAddress.String()
		switch signed := v.BlockIDFlag == cmttypes.BlockIDFlagCommit; {
		case signed:
			out.Signed = append(out.Signed, signer{address, who[address]})
		case named:
			address = all[i].Address.String()
			out.Missing = append(out.Missing, signer{address, who[address]})
		default:
			out.Unknown++
		}
	}
	return out
}
