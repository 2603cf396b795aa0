package chainview

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"
	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/memo"
)

// Asker answers the application's query paths. *client.Client is one.
type Asker interface {
	Query(ctx context.Context, path string, answer any) error
}

// RPC is the part of CometBFT's RPC that a Chain reads.
type RPC interface {
	BlockchainInfo(ctx context.Context, minHeight, maxHeight int64) (*ctypes.ResultBlockchainInfo, error)
	Block(ctx context.Context, height *int64) (*ctypes.ResultBlock, error)
	BlockByHash(ctx context.Context, hash []byte) (*ctypes.ResultBlock, error)
	BlockResults(ctx context.Context, height *int64) (*ctypes.ResultBlockResults, error)
	BlockSearch(ctx context.Context, query string, page, perPage *int, orderBy string) (*ctypes.ResultBlockSearch, error)
	Tx(ctx context.Context, hash []byte, prove bool) (*ctypes.ResultTx, error)
	Commit(ctx context.Context, height *int64) (*ctypes.ResultCommit, error)
	TxSearch(ctx context.Context, query string, prove bool, page, perPage *int, orderBy string) (*ctypes.ResultTxSearch,
		error)
	NetInfo(ctx context.Context) (*ctypes.ResultNetInfo, error)
	client.VotesRPC
}

// Evaluator measures a model under a chain's parameters.
type Evaluator interface {
	Evaluate(ctx context.Context, p params.Params, x []float64) (model.Eval, error)
}

// Options are the options of a Chain. The zero value of a field is its default.
type Options struct {
	Evaluator Evaluator                // measures the model after every round; nil for none
	First     uint64                   // the number of rounds that the first look reads; default 256
	Log       func(string, ...any)     // receives messages for the operator; default none
	Encode    func(string, any) []byte // the text of an event for Subscribe
}

// keptPoints is the max number of rounds in a course.
const keptPoints = 1024

// The max sizes of the caches: contributions in records, parameters in models (16 MiB), signatures in commits, headers
// of blocks, outcomes of proposals or proofs, answers that hold until the next look, and shapes of rounds.
const (
	keptContributions, keptParameters, keptSignatures  = 200_000, 2 << 20, 100_000
	keptHeaders, keptOutcomes, keptAnswers, keptShapes = 2048, 1024, 256, 256
)

// The errors of data that a node does not have, and of a course before the first look.
var (
	ErrNotFound = errors.New("not found")
	ErrNotYet   = errors.New("the explorer has not seen the chain yet")
)

// A Chain is the view of a chain through one node's public RPC. It trusts the answers of the node and caches final
// data. One goroutine, Follow, follows the chain for all readers.
type Chain struct {
	asker   Asker
	rpc     RPC
	options Options

	looks   atomic.Uint64 // the number of looks at the chain, after each of which answers are asked for again
	answers *Latest[any]  // of the application, by path

	// Caches of final data.
	records  *memo.Bounded[params.RoundID, *app.Record]
	models   *memo.Bounded[params.RoundID, *query.ModelState]
	shapes   *memo.Bounded[params.RoundID, *Shape]
	commits  *memo.Bounded[int64, map[string]bool]
	headers  *memo.Bounded[int64, *cmttypes.BlockMeta]
	turns    *memo.Bounded[int64, *Turn]    // of blocks, by height; nil of those without one
	outcomes *memo.Bounded[string, Outcome] // of proposals, by id
	proofs   *memo.Bounded[string, *Proof]  // of offences, by evidence and heights

	mu      sync.Mutex
	course  Course
	begun   bool
	failure error // why the last look failed
	readers map[chan []byte]struct{}
	moved   time.Time // when the height last moved, as the follower saw it
	stands  bool      // the readers know that the chain waits for a block
	counted time.Time // when looks last grew

	epoch, next uint64 // the round to read next; only the follower uses it

	beyond     *uint64        // the epoch whose models the evaluator cannot measure
	unknown    string         // why the last attempt to measure a model failed, "" if it succeeded
	scored     []byte         // events of the models measured since the last push
	newest     *model.Eval    // of the newest model that was measured, nil for none
	measuredAt params.RoundID // after which round
}

// New returns a view of a chain, which has not looked yet.
func New(a Asker, b RPC, o Options) *Chain {
	o.First = cmp.Or(o.First, 256)
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Encode == nil {
		o.Encode = func(string, any) []byte { return nil }
	}
	return &Chain{asker: a, rpc: b, options: o, readers: map[chan []byte]struct{}{},
		answers: NewLatest(keptAnswers, func(any) int { return 1 }),
		records: memo.NewWeighed[params.RoundID](keptContributions,
			func(r *app.Record) int { return 1 + len(r.Contributions) }),
		models: memo.NewWeighed[params.RoundID](keptParameters,
			func(m *query.ModelState) int { return 1 + len(m.Parameters)/8 }),
		shapes:  memo.New[params.RoundID, *Shape](keptShapes),
		commits: memo.NewWeighed[int64](keptSignatures, func(by map[string]bool) int { return 1 + len(by) }),
		headers: memo.New[int64, *cmttypes.BlockMeta](keptHeaders), turns: memo.New[int64, *Turn](keptHeaders),
		outcomes: memo.New[string, Outcome](keptOutcomes), proofs: memo.New[string, *Proof](keptOutcomes)}
}

// Forget empties the caches, because the node now belongs to another chain.
func (c *Chain) Forget() {
	for _, cache := range []interface{ Clear() }{c.records, c.models, c.shapes, c.commits, c.headers, c.turns,
		c.outcomes, c.proofs, c.answers.values} {
		cache.Clear()
	}
}

// Looks returns the number of looks at the chain. What follows from the chain's state stays the same until it grows.
func (c *Chain) Looks() uint64 { return c.looks.Load() }

// Missing reports whether an error means that the node answered and does not have the requested data.
func Missing(err error) bool {
	var refusal *client.Refusal
	var answer *rpctypes.RPCError
	return errors.Is(err, ErrNotFound) || errors.As(err, &answer) ||
		errors.As(err, &refusal) && (refusal.Code == abci.CodeNotFound || refusal.Code == abci.CodeBadQuery ||
			refusal.Code == abci.CodeUnknownPath)
}

// Latest caches values that follow from the state, until the next look at the chain. It computes a
// value once per look, even if many clients ask for it at the same time.
type Latest[V any] struct {
	mu     sync.Mutex
	look   uint64
	values *memo.Bounded[string, V]
}

// NewLatest returns a cache whose values weigh at most max together.
func NewLatest[V any](max int, weigh func(V) int) *Latest[V] {
	return &Latest[V]{values: memo.NewWeighed[string](max, weigh)}
}

// Get returns the value of a name at a look, and computes it if it is not cached. A caller with an older look gets the
// newer value. If the client whose request computes the value disconnects, another request computes it.
func (l *Latest[V]) Get(ctx context.Context, look uint64, name string, compute func() (V, error)) (V, error) {
	l.mu.Lock()
	if look > l.look { // drop the values of earlier looks
		l.look = look
		l.values.Clear()
	}
	l.mu.Unlock()
	for {
		value, err := l.values.Get(name, compute)
		if !errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return value, err
		}
	}
}
