package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/libs/service"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/types"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/network"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
)

// Build builds the CometBFT node of a home with an application, which uses the databases d. Each connection to the
// application has its own lock, so that CheckTx can run while PrepareProposal waits.
func Build(c *config.Config, application abcitypes.Application, validator types.PrivValidator, logger log.Logger,
	s *home.Keystore, d *databases.Set, options ...cmtnode.Option) (*cmtnode.Node, error) {
	d.State = func() *app.State { return stateOf(application) }
	nodeKey, err := s.LoadNodeKey(c.NodeKeyFile())
	if err != nil {
		return nil, err
	}
	if err := d.CheckGenesis(c, logger); err != nil {
		return nil, err
	}
	if err := checkVersion(c, d, stateOf(application)); err != nil {
		return nil, err
	}
	return databases.Build(c, func() (*cmtnode.Node, error) {
		n, err := cmtnode.NewNode(c, home.Gate{PrivValidator: validator, Check: executable(d.State)}, nodeKey,
			clients{application}, func() (*types.GenesisDoc, error) { return home.ReadGenesis(c) },
			d.Provide, cmtnode.DefaultMetricsProvider(c.Instrumentation), logger, options...)
		if lookup := (p2p.ErrNetAddressLookup{}); errors.As(err, &lookup) {
			return nil, fmt.Errorf("config.toml: p2p.external_address is %q, a name that this host must resolve at the node's "+
				"start: give an address, or the name in /etc/hosts: %w", c.P2P.ExternalAddress, err)
		}
		if err != nil {
			return nil, err
		}
		return n, d.CheckValidators(c)
	})
}

// Running is a started node with its application and its worker.
type Running struct {
	Node        *cmtnode.Node
	Application *abci.Application

	network       *network.Network
	rpc           *network.RPC       // nil if the node serves no RPC
	isUnlisted    bool               // Hooks.Unlisted: the node has no listeners; Stop stops its parts one by one
	isWatched     bool               // whether start has called network.Watch: Stop then waits for the worker's result
	databases     databases.Set      // the databases of CometBFT
	db            dbm.DB             // the database of the application
	cancel        context.CancelFunc // stops the goroutines outside of consensus
	remote        *remoteValidator   // nil if the home has the validator's key
	votes         *validatorVotes
	paused        *home.PausedValidator // nil if another process has the validator's key
	validatorLock io.Closer             // nil if another process has the validator's key
	upgradeHalt   *upgradeHalt
	worker        chan error                  // receives the worker's result, once
	workerStopped atomic.Bool                 // whether the validator goes on without its worker
	workerStep    atomic.Pointer[worker.Step] // nil before the first
	failures      chan error
	haltReason    atomic.Pointer[string] // CometBFT's text about a consensus failure; nil if there was none
	dataDir       string
	log           log.Logger
	servicesDone  <-chan struct{} // closed when the services of Hooks.StartServices have ended; nil without services
}

// Hooks let a command or a testnet change how a node runs. The zero value changes nothing.
type Hooks struct {
	// Keys reads the home's key files. The default reads only unencrypted files.
	Keys *home.Keystore
	// Data reads the participant's part of the training data. It is called when the chain's
	// parameters are known. The default is home.LoadPart.
	Data home.PartOf
	// Chain wraps the worker's access to the chain.
	Chain func(c worker.Chain, keys worker.Keys) (worker.Chain, error)
	// GossipRefused sets the option GossipRefused of the application: the mempool then forwards
	// gradients that the application rejects. Only a simulated attacker sets it.
	GossipRefused bool
	// Unlisted starts the node without its listeners: no peer and no client can connect to it, and
	// the caller connects the switches. Nets in virtual time (testnet/virtual) set it.
	Unlisted bool
	// StartServices starts further services in the node's process, which run until ctx ends. It
	// returns when the services are ready, or with an error. ended is closed when the services have
	// ended; a nil ended means that no service runs. By default no service runs.
	StartServices func(ctx context.Context, n ServiceContext) (ended <-chan struct{}, err error)
}

// ServiceContext is the part of the node that Hooks.StartServices gets.
type ServiceContext struct {
	App       home.AppConfig
	RPC       string // rpc.laddr in config.toml
	Logger    log.Logger
	Evaluator *home.Evaluator // measures models with the data and the trainer of the worker
}

// Start calls StartContext with a context that does not end.
func Start(c *config.Config, a home.AppConfig, logger log.Logger, h Hooks) (*Running, error) {
	return StartContext(context.Background(), c, a, logger, h)
}

// StartContext runs the node of a home with the application and, if app.toml enables it, the
// worker. When ctx ends, the worker ends, and a wait for a signer fails with an error that matches
// context.Canceled. The node itself runs until the caller calls Stop.
func StartContext(ctx context.Context, c *config.Config, a home.AppConfig, logger log.Logger, h Hooks) (*Running,
	error) {
	if h.Data == nil {
		h.Data = home.LoadPart
	}
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("app.toml: %w", err)
	}
	if a.IsRelay() {
		if err := home.CheckRelay(c, a); err != nil { // checked before any key is read
			return nil, err
		}
	}
	own, err := home.OpenParticipant(ctx, c, a, h.Keys)
	if err != nil && (a.Worker.Enabled || !errors.Is(err, os.ErrNotExist)) {
		return nil, err
	}
	if err := checkHome(c, a, logger.With("module", "app")); err != nil {
		return nil, err
	}
	r := &Running{worker: make(chan error, 1), failures: make(chan error, 2), dataDir: c.DBDir(),
		upgradeHalt: newUpgradeHalt(), log: logger.With("module", "app")}
	if r.db, err = home.OpenApplicationDB(c); err != nil {
		return nil, err
	}
	if err := home.CheckPorts(c); err != nil {
		return nil, errors.Join(err, r.db.Close())
	}
	ctx, r.cancel = context.WithCancel(ctx)
	if err := r.start(ctx, c, a, own, logger, h); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// checkHome rejects a home whose node must not start. It warns about settings in config.toml that CometBFT does not
// have, and about exposed key files. If the home of a member has no data folder, checkHome makes one.
func checkHome(c *config.Config, a home.AppConfig, logger log.Logger) error {
	if err := home.CheckKeys(c.RootDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		logger.Warn("a key has no effect: correct or remove it", "err", err)
	}
	if err := checkDiverged(c); err != nil {
		return err
	}
	if err := warnKeys(c, a, logger); err != nil {
		return err
	}
	if a.IsRelay() {
		return nil
	}
	return home.RestoreData(c, logger)
}

// warnKeys warns about key files that other users can read, and about plain key files in a home with encrypted keys.
func warnKeys(c *config.Config, a home.AppConfig, logger log.Logger) error {
	home.WarnReadable(logger, home.InHome(c, a.Worker.KeyFile), c.PrivValidatorKeyFile(), c.NodeKeyFile())
	plain, err := home.PlainKeys(c, a)
	for _, file := range plain {
		logger.Warn("this home's keys are encrypted, and a key file is plain: spdl keys encrypt", "file", file)
	}
	return err
}

// start assembles the application and the CometBFT node, starts the node, its watchers and the
// services of Hooks.StartServices, and then starts the worker if app.toml enables it. If start
// fails, the caller must call Stop, which stops the parts that already run.
func (r *Running) start(ctx context.Context, c *config.Config, a home.AppConfig, own home.Participant,
	logger log.Logger, h Hooks) error {
	g, err := home.GenesisOf(c)
	if err != nil {
		return err
	}
	c, a = home.Tune(c, a, g)
	if err := r.assemble(ctx, c, a, own, logger, h); err != nil {
		return err
	}
	r.announce(c)
	if err := r.run(h.Unlisted, a.API.HostNames()); err != nil {
		return home.ListenError(c, err)
	}
	consensus, err := consensusOf(r.Node)
	if err != nil {
		return err
	}
	r.network.Watch(ctx, r.Application)
	r.isWatched = true
	began := time.Now()
	go func() {
		if r.network.Synced(ctx) == nil { // consensus starts only after the node has synced
			go r.logCaughtUp(ctx, began, r.blocksBehind)
			r.watch(ctx, consensus)
		}
	}()
	go r.watchSizes(ctx, r.log)
	if c.StateSync.Enable {
		go func() {
			if err := watchSync(ctx, r.Application.RestoreTimes, syncPatience(c.StateSync.DiscoveryTime)); err != nil {
				r.fail(err)
			}
		}()
	}
	if h.StartServices != nil {
		if r.servicesDone, err = h.StartServices(ctx, ServiceContext{App: a, RPC: c.RPC.ListenAddress, Logger: logger,
			Evaluator: home.EvaluatorOf(c, a.Worker)}); err != nil {
			r.worker <- err
			return err
		}
	}
	return r.startWorker(ctx, c, a, own, logger.With("module", "worker"), h)
}

// run starts the RPC, under the given host names, and the CometBFT node or, if unlisted is set, only
// its switch with the reactors.
func (r *Running) run(unlisted bool, hosts []string) (err error) {
	if !unlisted {
		if r.rpc, err = network.ServeRPC(r.Node, hosts); err != nil {
			return err
		}
		return r.Node.Start()
	}
	r.isUnlisted = true
	return r.Node.Switch().(service.Service).Start()
}

// assemble makes the application and the CometBFT node, and connects them. It starts nothing.
func (r *Running) assemble(ctx context.Context, c *config.Config, a home.AppConfig, own home.Participant,
	logger log.Logger, h Hooks) error {
	doc, err := home.ReadGenesis(c)
	if err != nil {
		return err
	}
	g, err := app.DecodeGenesis(doc.AppState)
	if err != nil {
		return err
	}
	nodeKey, err := h.Keys.LoadNodeKey(c.NodeKeyFile())
	if err != nil {
		return err
	}
	r.network = network.New(c, a.P2P, g, func() *app.State { return stateOf(r.Application) }, logger)
	options := r.options(c, a, doc, own, logger, h)
	host := r.newHost(c, a, own)
	options.Host = host
	if r.Application, err = abci.New(options); err != nil {
		return err
	}
	if r.Application.State() == nil {
		if err := checkProofs(c.GenesisFile(), doc.ChainID, g); err != nil {
			return err
		}
	}
	block := int64(0)
	if p := doc.ConsensusParams; p != nil {
		block = p.Block.MaxBytes
	}
	c = r.network.Configure(c, r.Application.State(), block, nodeKey.ID())
	r.databases.Drops, r.databases.Journal = a.Retain.Drops(), home.Journals(c, a)
	validator := types.PrivValidator(home.NoValidator())
	if !a.IsRelay() {
		if validator, err = r.openValidator(ctx, c, a.Signer, doc.ChainID, nodeKey, h.Keys, logger); err != nil {
			return err
		}
	}
	if r.remote != nil {
		local := *c
		local.PrivValidatorListenAddr = "" // if it were set, CometBFT would listen for the signer too
		c = &local
	}
	if err := r.connect(c, a, validator, h.Keys, options.Metrics, logger); err != nil {
		return err
	}
	r.registerGauges(c, a, options.Metrics,
		func(s *app.State) bool { return host.Declare(s).Consent == home.ConsentAwaited })
	return nil
}

// options returns the options of the application.
func (r *Running) options(c *config.Config, a home.AppConfig, doc *types.GenesisDoc, own home.Participant,
	logger log.Logger, h Hooks) abci.Options {
	options := abci.Options{
		ChainID: doc.ChainID, Program: version.Version,
		DB: r.db, Logger: logger.With("module", "app"),
		ProposalWait: a.Proposal.Wait.Duration, StragglerWait: a.Proposal.StragglerWait.Duration,
		PoolBytes: a.Pool.MaxBytes, SnapshotInterval: a.Snapshot.Interval, Retain: a.Retain, GossipRefused: h.GossipRefused,
	}
	if c.Instrumentation.IsPrometheusEnabled() { // CometBFT serves Prometheus's default registry
		options.Metrics = metrics.New(prometheus.DefaultRegisterer, doc.ChainID)
		options.Metrics.Set("build_info", 1, version.Version, fmt.Sprint(app.Version), version.CometBFT())
	}
	if own.Signer != nil && a.Worker.Enabled {
		options.Metrics.Truth("signer_answers", func() bool { return own.Signer.Away() == "" })
	}
	if c.PrivValidatorListenAddr != "" && !a.IsRelay() {
		options.Metrics.Truth("validator_signer_connected", func() bool { return !r.remote.isAway() })
	}
	options.OwnKey = own.Signing
	r.votes = &validatorVotes{participant: own.Signing, metrics: options.Metrics, logger: options.Logger}
	if p := doc.ConsensusParams; p != nil {
		options.GenesisVersion = p.Version.App
	}
	return options
}

// connect builds the CometBFT node with this project's reactors and limits, and connects the
// application to the node's mempool.
func (r *Running) connect(c *config.Config, a home.AppConfig, validator types.PrivValidator, s *home.Keystore,
	m *metrics.Metrics, logger log.Logger) (err error) {
	r.Node, err = Build(c, r.Application, home.Gate{PrivValidator: validator, Check: r.network.CheckGap},
		logMonitor{logger, r.onError, r.upgradeHalt.stop}, s, &r.databases, r.network.Options(r.Application, c, m, logger)...)
	if err != nil {
		// CometBFT's replay may have reached a height of another version.
		if s := r.Application.State(); s != nil && errors.Is(s.Executable(), app.ErrVersion) {
			return versionError(s, err)
		}
		return err
	}
	if err := r.watchUpgrade(r.log); err != nil {
		return err
	}
	r.network.Attach(r.Node)
	return nil
}

// checkProofs verifies the VRF proofs in genesis for the chain id and the seed. A wrong proof means
// that the genesis file was changed after the founding members had agreed on it.
func checkProofs(file, chainID string, g app.Genesis) error {
	if _, err := g.Contenders(chainID); err != nil {
		return fmt.Errorf("%s was changed after the founding: take the file of another member, and compare its SHA-256 with "+
			"the others' (sha256sum): %w", file, err)
	}
	return nil
}
