package abci

import (
	"cmp"
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
)

// Options are the settings of one node. None of them can change which transactions and blocks are valid.
type Options struct {
	DB     dbm.DB
	Logger log.Logger
	// Retain sets how many past blocks the node keeps. By default the node keeps all blocks.
	Retain store.Retain
	// ProposalWait bounds the time that PrepareProposal waits for the round's gradients and
	// aggregate. It must be below timeout_propose. The default is 1 s.
	ProposalWait time.Duration
	// StragglerWait is the time that a proposer or a leader with N-f gradients waits for a further
	// gradient. The wait starts again with each gradient that arrives. The default is 250 ms.
	StragglerWait time.Duration
	// PoolBytes is the max total size of the pending transactions, in bytes. The default is 256 MiB.
	PoolBytes int64
	// SnapshotInterval is the number of heights between two snapshots for state sync; 0 disables snapshots. On a fast
	// chain the node skips some snapshots. The node keeps at least the last two.
	SnapshotInterval uint64
	// StateMachine is the state machine version that the application executes. The default is
	// app.Version; other values let nodes of several versions run in one process.
	StateMachine uint64
	// ChainID is the chain id in the node's genesis. A snapshot of another chain is rejected.
	ChainID string
	Program string // the version of the program, as Info returns it
	// GenesisVersion is the state machine version in the node's genesis. The default is
	// StateMachine. A received state that records no upgrade has this version. So if GenesisVersion
	// and StateMachine differ, state sync rejects such a state.
	GenesisVersion uint64
	// OwnKey is the public key of the participant whose worker runs with this node. Timings and
	// metrics use it. It may be nil.
	OwnKey []byte
	// Host is the node in which the application runs. The default is NoHost.
	Host Host
	// GossipRefused makes the mempool take and gossip gradients that the application rejects. Only the
	// node of a simulated attacker sets it.
	GossipRefused bool
	// Metrics receives the node's metrics. It may be nil.
	Metrics *metrics.Metrics
	// Now is the clock for the timings. The default is time.Now.
	Now func() time.Time
}

// Application implements ABCI 2.0 for CometBFT.
type Application struct {
	abcitypes.BaseApplication

	options     Options
	log         log.Logger
	store       *store.Store
	state       atomic.Pointer[app.State] // the committed state; nil before InitChain
	pool        atomic.Pointer[pool.Pool] // nil before InitChain
	executor    *pool.Executor
	timings     *query.Timings
	refusals    *query.Rejections
	attempts    *query.Attempts
	lateness    slowRounds
	drafts      pool.Drafts
	precomputer pool.Precomputer
	queries     *query.Queries
	ready       chan struct{} // closed once state and pool are set
	once        sync.Once

	// outcome is the result of the block that FinalizeBlock executed last. Commit stores it and sets
	// the field to nil. The field needs no lock, because CometBFT never runs the two methods at once.
	outcome *app.Outcome
	// beforeCommit is true from InitChain to the first Commit. Until that Commit the field state holds
	// the genesis state, which is not in the store and which Info must not report.
	beforeCommit atomic.Bool

	snapshotter *store.Snapshotter // only Commit uses it

	restored atomic.Pointer[query.Restore] // the progress of a state sync, not nil

	// restoration holds the chunks of the snapshot that state sync is receiving. It needs no lock,
	// because CometBFT makes one snapshot call at a time.
	restoration *store.Restoration
}

var _ abcitypes.Application = (*Application)(nil)

// New returns the application on the database o.DB. Its state is the last committed state, or nil
// if the database has none.
func New(o Options) (*Application, error) {
	o.ProposalWait = cmp.Or(max(0, o.ProposalWait), time.Second)
	o.StragglerWait = cmp.Or(max(0, o.StragglerWait), 250*time.Millisecond)
	o.PoolBytes = cmp.Or(max(0, o.PoolBytes), 256<<20)
	o.Logger = cmp.Or(o.Logger, log.NewNopLogger())
	o.StateMachine = cmp.Or(o.StateMachine, app.Version)
	o.GenesisVersion = cmp.Or(o.GenesisVersion, o.StateMachine)
	o.Host = cmp.Or[Host](o.Host, NoHost{})
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Application{options: o, log: o.Logger, store: store.New(o.DB), ready: make(chan struct{})}
	a.snapshotter = store.NewSnapshotter(a.store, o.Now)
	a.restored.Store(new(query.Restore))
	a.timings, a.refusals, a.attempts = query.NewTimings(o.Now), query.NewRejections(), query.NewAttempts()
	a.precomputer.Log, a.executor = o.Logger, pool.NewExecutor(o.Now, o.Metrics)
	a.queries = query.New(query.Queries{
		Store: a.store, State: a.State, Pool: func() pool.Snapshot { return a.pool.Load().Snapshot() }, Draft: a.draft,
		Now: o.Now, Host: o.Host, Version: o.StateMachine, Timings: a.timings, Rejections: a.refusals, Attempts: a.attempts,
		Restored: a.restored.Load,
	})
	s, err := a.store.State()
	if err != nil {
		return nil, fmt.Errorf("application database: %w", store.DamageOf("application", err))
	}
	if s != nil {
		a.publish(s, nil)
	}
	return a, nil
}

// publish makes s the committed state. The first call creates the pool; later calls update it. record
// is that of the round that the block of s closed, nil if it closed none.
func (a *Application) publish(s *app.State, record *app.Record) {
	if a.options.StateMachine != app.Version {
		s = s.As(a.options.StateMachine)
	}
	own, found := s.Find(a.options.OwnKey)
	a.timings.RecordOpening(s, own.Index, found) // before the worker sees s
	before := a.state.Swap(s)
	a.queries.Prune()
	if p := a.pool.Load(); p != nil {
		p.Advance(s, record)
	} else {
		wait := pool.Patience{Straggler: a.options.StragglerWait, Whole: a.options.ProposalWait}
		a.pool.Store(pool.New(s, a.options.PoolBytes, wait, a.options.Now))
		a.once.Do(func() { close(a.ready) })
	}
	a.measure(before, s)
}

// State returns the committed state, nil before InitChain.
func (a *Application) State() *app.State { return a.state.Load() }
