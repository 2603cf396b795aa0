package explorer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/internal/memo"
)

// Asker answers the application's query paths. *client.Client is one.
type Asker interface {
	Query(ctx context.Context, path string, answer any) error
}

// Blocks is the part of CometBFT's RPC that the explorer reads.
type Blocks interface {
	BlockchainInfo(ctx context.Context, minHeight, maxHeight int64) (*ctypes.ResultBlockchainInfo, error)
	Block(ctx context.Context, height *int64) (*ctypes.ResultBlock, error)
	BlockByHash(ctx context.Context, hash []byte) (*ctypes.ResultBlock, error)
	BlockResults(ctx context.Context, height *int64) (*ctypes.ResultBlockResults, error)
	Tx(ctx context.Context, hash []byte, prove bool) (*ctypes.ResultTx, error)
	TxSearch(ctx context.Context, query string, prove bool, page, perPage *int, orderBy string) (*ctypes.ResultTxSearch,
		error)
	Commit(ctx context.Context, height *int64) (*ctypes.ResultCommit, error)
	client.VotesRPC
}

var (
	errNotFound = errors.New("not found")
	errBad      = errors.New("malformed request")
)

// A source reads the chain and caches final data.
type source struct {
	asker  Asker
	blocks Blocks

	// looks is the number of looks at the chain. After each, pages are rendered again.
	looks   atomic.Uint64
	answers *latest[any] // of the application, by path

	// Caches of final data.
	records  *memo.Bounded[params.RoundID, *app.Record]
	models   *memo.Bounded[params.RoundID, *query.ModelState]
	commits  *memo.Bounded[int64, map[string]bool]
	headers  *memo.Bounded[int64, *cmttypes.BlockMeta]
	outcomes *memo.Bounded[string, *chainview.Outcome] // of proposals, by id
	proofs   *memo.Bounded[string, *proof]             // of offences, by evidence and heights
	shapes   *memo.Bounded[params.RoundID, *shape]

	committed *memo.Bounded[int64, *params.RoundID] // by the blocks of heights; nil by those without commitments
}

// The max sizes of the caches: contributions in records, parameters in models (16 MiB), signatures
// in commits, headers of blocks, outcomes of proposals or proofs, answers that hold until the next
// look, and shapes of rounds.
const (
	keptContributions, keptParameters, keptSignatures  = 200_000, 2 << 20, 100_000
	keptHeaders, keptOutcomes, keptAnswers, keptShapes = 2048, 1024, 256, 256
)

func newSource(a Asker, b Blocks) *source {
	return &source{asker: a, blocks: b, answers: newLatest(keptAnswers, one),
		records: memo.NewWeighed[params.RoundID](keptContributions,
			func(r *app.Record) int { return 1 + len(r.Contributions) }),
		models: memo.NewWeighed[params.RoundID](keptParameters,
			func(m *query.ModelState) int { return 1 + len(m.Parameters)/8 }),
		commits: memo.NewWeighed[int64](keptSignatures, func(by map[string]bool) int { return 1 + len(by) }),
		headers: memo.New[int64, *cmttypes.BlockMeta](keptHeaders), outcomes: memo.New[string, *chainview.Outcome](keptOutcomes),
		proofs: memo.New[string, *proof](keptOutcomes), shapes: memo.New[params.RoundID, *shape](keptShapes),
		committed: memo.New[int64, *params.RoundID](keptHeaders)}
}

// forget empties the caches, because the node now belongs to another chain.
func (s *source) forget() {
	for _, cache := range []interface{ Clear() }{s.records, s.models, s.commits, s.headers, s.outcomes, s.proofs, s.shapes,
		s.committed, s.answers.values} {
		cache.Clear()
	}
}

// ask queries the node.
func ask[T any](ctx context.Context, s *source, path string) (answer T, err error) {
	err = s.asker.Query(ctx, path, &answer)
	return answer, err
}

// known queries the node once per look at the chain. Callers must not change the answer.
func known[T any](ctx context.Context, s *source, path string) (answer T, err error) {
	got, err := s.answers.get(ctx, s.looks.Load(), path, func() (any, error) { return ask[T](ctx, s, path) })
	if err != nil {
		return answer, err
	}
	answer, ok := got.(T)
	if !ok {
		return answer, fmt.Errorf("%s was asked for as %T, and as %T", path, got, answer)
	}
	return answer, nil
}

func (s *source) status(ctx context.Context) (query.Status, error) {
	return ask[query.Status](ctx, s, "/status")
}

// record returns the record of a closed round. Callers must not change it.
func (s *source) record(ctx context.Context, at params.RoundID) (*app.Record, error) {
	if r, ok := s.records.Cached(at); ok {
		return r, nil
	}
	got, err := ask[app.Record](ctx, s, "/round/"+at.String())
	if err != nil {
		return nil, err
	}
	if got.Epoch != at.Epoch || got.Round != at.Round {
		return nil, fmt.Errorf("asked for round %v, the node answers %d/%d", at, got.Epoch, got.Round)
	}
	s.records.Put(at, &got)
	return &got, nil
}

// model returns the model after a closed round. Callers must not change it.
func (s *source) model(ctx context.Context, at params.RoundID) (*query.ModelState, error) {
	if m, ok := s.models.Cached(at); ok {
		return m, nil
	}
	got, err := ask[query.ModelState](ctx, s, "/model/"+at.String())
	if err != nil {
		return nil, err
	}
	s.models.Put(at, &got)
	return &got, nil
}

// participants returns the participants since the last look. Callers must not change them.
func (s *source) participants(ctx context.Context) ([]app.Participant, error) {
	return known[[]app.Participant](ctx, s, "/participants")
}

// ledger returns the participants, and the epoch with its number of closed rounds at that time.
// These are two queries, and a round may close between them, so ledger tries three times; ok is
// false if all tries fail.
func (s *source) ledger(ctx context.Context) (people []app.Participant, closed params.RoundID, ok bool, err error) {
	for range 3 {
		before, err := s.status(ctx)
		if err != nil {
			return nil, closed, false, err
		}
		if people, err = ask[[]app.Participant](ctx, s, "/participants"); err != nil {
			return nil, closed, false, err
		}
		after, err := s.status(ctx)
		if err != nil {
			return nil, closed, false, err
		}
		closed = params.RoundID{Epoch: after.Epoch, Round: after.Round}
		if before.Epoch == after.Epoch && before.Round == after.Round {
			return people, closed, true, nil
		}
	}
	return people, closed, false, nil
}

// absent reports whether an error means that the node answered and does not have the requested
// data.
func absent(err error) bool {
	var refusal *client.Refusal
	var answer *rpctypes.RPCError
	return errors.Is(err, errNotFound) || errors.As(err, &answer) ||
		errors.As(err, &refusal) && (refusal.Code == abci.CodeNotFound || refusal.Code == abci.CodeBadQuery ||
			refusal.Code == abci.CodeUnknownPath)
}
