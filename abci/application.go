package abci

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Options are a node's own settings. None of them can change a verdict.
type Options struct {
	DB     dbm.DB
	Logger log.Logger
	// Retain bounds the past blocks that are kept. Default: all of them.
	Retain store.Retain
	// ProposalWait bounds how long PrepareProposal waits for the round's gradients and its
	// aggregate. It must stay below timeout_propose. Default 1 s.
	ProposalWait time.Duration
	// StragglerWait bounds how long a proposer or a leader that has N-f
	// gradients waits for the rest. Default 250 ms.
	StragglerWait time.Duration
	// PoolBytes bounds the pending transactions. Default 256 MiB.
	PoolBytes int64
	// SnapshotInterval is the number of heights between two snapshots for state sync; 0 takes none.
	// On a fast chain some are skipped. At least the last two are kept.
	SnapshotInterval uint64
	// StateMachine is the state machine version that the application executes. Default app.Version;
	// other values are for networks of several versions in one process.
	StateMachine uint64
	// ChainID is the chain ID of the node's genesis: a snapshot of another chain is rejected.
	ChainID string
	// GenesisVersion is the state machine version of the node's genesis. A snapshot is rejected if
	// the height after it is of another version than StateMachine. Default StateMachine.
	GenesisVersion uint64
	// OwnKey is the public key of the participant whose worker runs with this
	// node, for the timings. May be nil.
	OwnKey []byte
	// Finalized is called by every FinalizeBlock that succeeds, in its goroutine, with the decided
	// block and its outcome. May be nil.
	Finalized func(*abcitypes.RequestFinalizeBlock, *app.Outcome)
	// Decided reports whether an honest validator is beyond a height. PrepareProposal does not wait
	// at such a height: while it waits, CometBFT cannot take the decided block, and the node would
	// never catch up with a fast chain. Default never.
	Decided func(height int64) bool
	// Admits returns an error if the node with an ID is not let in. CometBFT's peer filter asks it.
	// Default: every node is let in.
	Admits func(node string) error
	// Opens returns an error if a connection from an address is not accepted. CometBFT's peer
	// filter asks before it knows the node's ID.
	Opens func(address string) error
	// GossipRefused lets the mempool take gradients that the application rejects, so that peers
	// receive them. Only the node of a simulated attacker sets it.
	GossipRefused bool
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Now is the clock of the timings. Default time.Now.
	Now func() time.Time
}

// Application is SPDL behind ABCI 2.0.
type Application struct {
	abcitypes.BaseApplication

	options  Options
	log      log.Logger
	store    *store.Store
	state    atomic.Pointer[app.State] // committed; nil before InitChain
	pool     atomic.Pointer[pool.Pool] // nil before InitChain
	executor *pool.Executor
	timings  *query.Timings
	refusals *query.Rejections
	attempts *query.Attempts
	lateness slowRounds
	drafts   pool.Drafts
	ahead    pool.Precomputer
	queries  *query.Queries
	ready    chan struct{} // closed once state and pool are set
	once     sync.Once

	// decided is the outcome between FinalizeBlock and Commit, which CometBFT
	// calls one after the other.
	decided *app.Outcome
	// fresh is set from InitChain to the first Commit: the state is the genesis state, which Info
	// must not report and the store does not hold yet.
	fresh atomic.Bool

	started time.Time
	taken   map[uint64]time.Time // times of the snapshots by height; only Commit uses it

	// offered is the time of the last accepted offer of a snapshot, and chunked that of its last
	// correct chunk.
	offered, chunked atomic.Pointer[time.Time]

	// restoring is the snapshot that state sync is applying, one call at a time.
	restoring *restoring

	ended     func(*app.State) // may be nil
	hold      func()           // may be nil
	express   func([]byte)     // may be nil
	admitted  func(*tx.Tx)     // may be nil
	report    func([]byte)     // may be nil
	broadcast atomic.Pointer[func(context.Context, []byte) error]
}

var _ abcitypes.Application = (*Application)(nil)

// New opens the application on its database: at the last committed height, or
// before InitChain.
func New(o Options) (*Application, error) {
	if o.ProposalWait <= 0 {
		o.ProposalWait = time.Second
	}
	if o.StragglerWait <= 0 {
		o.StragglerWait = 250 * time.Millisecond
	}
	if o.PoolBytes <= 0 {
		o.PoolBytes = 256 << 20
	}
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.StateMachine == 0 {
		o.StateMachine = app.Version
	}
	if o.Decided == nil {
		o.Decided = func(int64) bool { return false }
	}
	if o.GenesisVersion == 0 {
		o.GenesisVersion = o.StateMachine
	}
	a := &Application{options: o, log: o.Logger, store: store.New(o.DB), ready: make(chan struct{}), started: o.Now()}
	a.timings, a.refusals, a.attempts = query.NewTimings(o.Now), query.NewRejections(), query.NewAttempts()
	a.ahead.Log, a.executor = o.Logger, pool.NewExecutor(o.Now, o.Metrics)
	a.queries = query.New(query.Queries{
		Store: a.store, State: a.State, Pool: func() pool.Snapshot { return a.pool.Load().Snapshot() }, Draft: a.draft,
		Now:     o.Now,
		Version: o.StateMachine, Timings: a.timings, Rejections: a.refusals, Attempts: a.attempts,
	})
	s, err := a.store.State()
	if err != nil {
		return nil, fmt.Errorf("application database: %w", err)
	}
	if s != nil {
		a.publish(s)
	}
	return a, nil
}

// publish makes a state the committed one. The first call opens the pool.
func (a *Application) publish(s *app.State) {
	if a.options.StateMachine != app.Version {
		s = s.As(a.options.StateMachine)
	}
	before := a.state.Swap(s)
	a.queries.Prune()
	if p := a.pool.Load(); p != nil {
		p.Advance(s)
	} else {
		a.pool.Store(pool.New(s, a.options.PoolBytes, a.options.Now))
		a.once.Do(func() { close(a.ready) })
	}
	own, found := s.Find(a.options.OwnKey)
	a.timings.Opened(s, own.Index, found)
	a.measure(before, s)
}

// SetBroadcast sets the function that submits a transaction to the node's mempool, for the worker
// in this process. Call it once the node is built.
func (a *Application) SetBroadcast(send func(ctx context.Context, raw []byte) error) {
	a.broadcast.Store(&send)
}

// SetExpress sets the function that sends a newly admitted aggregate to the peers ahead of the
// mempool. Call it before the node starts.
func (a *Application) SetExpress(send func(raw []byte)) { a.express = send }

// SetDeclaration sets the function that says what the node declares of its own home (query.Home), for
// queries. Call it before the node starts.
func (a *Application) SetDeclaration(of func(*app.State) query.Home) {
	a.queries.Declaration = of
}

// SetClocks sets the function that returns the clocks of the node's peers, for queries. Call it
// before the node starts.
func (a *Application) SetClocks(clocks func() []query.PeerClock) { a.queries.Clocks = clocks }

// SetAdmitted sets the function that tells the gossip about every transaction that the mempool is
// about to take. That includes a transaction that is in the pool already and, with GossipRefused,
// one that the pool rejects. CheckTx calls the function in its own goroutine, so it must not wait.
// Call SetAdmitted before the node starts.
func (a *Application) SetAdmitted(heard func(*tx.Tx)) { a.admitted = heard }

// SetReport sets the function that submits evidence of an equivocation that this node has seen. The
// function must not wait, because CheckTx calls it. Call SetReport before the node starts.
func (a *Application) SetReport(send func(raw []byte)) { a.report = send }

// State returns the committed state, nil before InitChain.
func (a *Application) State() *app.State { return a.state.Load() }
