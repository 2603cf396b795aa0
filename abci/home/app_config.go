package home

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app/worker/signer"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// AppConfig is the content of app.toml: the settings of one node. No setting can change which
// transactions and blocks are valid. Settings on which all nodes must agree are in the genesis.
type AppConfig struct {
	Node     NodeConfig     `mapstructure:"node"`
	Worker   WorkerConfig   `mapstructure:"worker"`
	Signer   SignerConfig   `mapstructure:"signer"`
	Proposal ProposalConfig `mapstructure:"proposal"`
	P2P      P2PConfig      `mapstructure:"p2p"`
	Pool     PoolConfig     `mapstructure:"pool"`
	Snapshot SnapshotConfig `mapstructure:"snapshot"`
	Retain   store.Retain   `mapstructure:"retain"`
	Explorer ExplorerConfig `mapstructure:"explorer"`
	API      APIConfig      `mapstructure:"api"`
}

// NodeConfig holds the role of the node in its chain.
type NodeConfig struct {
	Role string `mapstructure:"role"`
}

// These are the roles of a node.
const (
	RoleMember = "member" // the node of a participant or a validator
	RoleRelay  = "relay"  // a node without participant and validator that forwards the messages of members
)

// IsRelay reports whether the node is a relay.
func (c AppConfig) IsRelay() bool { return c.Node.Role == RoleRelay }

// WorkerConfig is the section [worker] of app.toml: the settings of the worker, which runs in the
// node's process or in another process.
type WorkerConfig struct {
	Enabled       bool          `mapstructure:"enabled"`
	KeyFile       string        `mapstructure:"key_file"`
	Journal       string        `mapstructure:"journal"`
	Signer        string        `mapstructure:"signer"`
	SignerCerts   string        `mapstructure:"signer_certificates"`
	Data          string        `mapstructure:"data"`
	Partition     string        `mapstructure:"partition"`
	Alpha         float64       `mapstructure:"alpha"`
	Part          int           `mapstructure:"part"`
	Parts         int           `mapstructure:"parts"`
	PartitionSeed uint64        `mapstructure:"partition_seed"`
	TestSeed      uint64        `mapstructure:"test_seed"`
	StepDelay     time.Duration `mapstructure:"step_delay"`
	LogLoss       bool          `mapstructure:"log_loss"`
	PollInterval  time.Duration `mapstructure:"poll_interval"`

	Trainer        []string      `mapstructure:"trainer"`
	TrainerDir     string        `mapstructure:"trainer_dir"`
	TrainerTimeout time.Duration `mapstructure:"trainer_timeout"`

	Trainers         []string `mapstructure:"trainers"`
	Sandbox          string   `mapstructure:"sandbox"`
	TrainerMemory    int64    `mapstructure:"trainer_memory"`
	TrainerScratch   int64    `mapstructure:"trainer_scratch"`
	TrainerProcesses int      `mapstructure:"trainer_processes"`
	TrainerRead      []string `mapstructure:"trainer_read"`
	TrainerEnv       []string `mapstructure:"trainer_env"`
	Devices          []string `mapstructure:"devices"`

	Consent            string  `mapstructure:"consent"`
	Unit               string  `mapstructure:"unit"`
	MaxEpsilon         float64 `mapstructure:"max_epsilon"`
	MinNoiseMultiplier float64 `mapstructure:"min_noise_multiplier"`

	TrustHeight int64         `mapstructure:"trust_height"`
	TrustHash   string        `mapstructure:"trust_hash"`
	TrustPeriod time.Duration `mapstructure:"trust_period"`
	MaxAge      time.Duration `mapstructure:"max_age"`
}

// SignerConfig is the section [signer] of app.toml: the settings of spdl signer, a process that
// holds the keys of this home for a node in another home.
type SignerConfig struct {
	Connect      string   `mapstructure:"connect"`
	NodeID       string   `mapstructure:"node_id"`
	Listen       string   `mapstructure:"listen"`
	Certificates string   `mapstructure:"certificates"`
	Users        []string `mapstructure:"users"`
	Allow        []string `mapstructure:"allow"`
	Rate         float64  `mapstructure:"rate"`
}

// ProposalConfig bounds the times that a proposer and a leader wait for gradients.
type ProposalConfig struct {
	Wait          time.Duration `mapstructure:"wait"`
	StragglerWait time.Duration `mapstructure:"straggler_wait"`
}

// P2PConfig sets how transactions spread, and which nodes may connect.
type P2PConfig struct {
	Gossip       string `mapstructure:"gossip"`
	MembersOnly  bool   `mapstructure:"members_only"`
	AllowedPeers string `mapstructure:"allowed_peers"` // node ids, separated by commas
	Relays       string `mapstructure:"relays"`        // id@host:port, separated by commas
}

// These are the values of p2p.gossip: the ways in which transactions spread.
const (
	GossipAnnounce = "announce"
	GossipFlood    = "flood"
)

// PoolConfig bounds the pending transactions.
type PoolConfig struct {
	MaxBytes int64 `mapstructure:"max_bytes"`
}

// SnapshotConfig sets the snapshots for state sync.
type SnapshotConfig struct {
	Interval uint64 `mapstructure:"interval"`
}

// ExplorerConfig is the section [explorer] of app.toml. The explorer runs in the node's process,
// and serves web pages, and JSON under /v1.
type ExplorerConfig struct {
	Enabled bool   `mapstructure:"enabled"`
	Laddr   string `mapstructure:"laddr"`
	Eval    bool   `mapstructure:"eval"`
}

// APIConfig limits the host names, requests and connections of the explorer's listener.
type APIConfig struct {
	Hosts            string  `mapstructure:"hosts"` // host names, separated by commas
	Rate             float64 `mapstructure:"rate"`
	Burst            int     `mapstructure:"burst"`
	MaxConnections   int     `mapstructure:"max_connections"`
	MaxStreams       int     `mapstructure:"max_streams"`
	StreamsPerClient int     `mapstructure:"streams_per_client"`
}

// These are the values of worker.sandbox.
const (
	SandboxOn  = sandbox.ModeOn
	SandboxOff = sandbox.ModeOff
)

// These are the values of worker.partition: the ways to divide training data among participants.
const (
	PartitionIID       = "iid"
	PartitionDirichlet = "dirichlet"
)

// DefaultAppConfig returns the settings of a new home.
func DefaultAppConfig() AppConfig {
	return AppConfig{
		Node: NodeConfig{Role: RoleMember},
		Worker: WorkerConfig{
			Enabled: true, KeyFile: "config/participant_key.json", Journal: "data/worker_journal.json",
			SignerCerts: defaultCertificates,
			Partition:   PartitionIID, Alpha: 1, Parts: 1, PollInterval: 50 * time.Millisecond,
			Trainer: []string{}, TrainerTimeout: trainer.DefaultTimeout, TrustPeriod: 7 * 24 * time.Hour, MaxAge: time.Minute,
			Consent: ConsentOff,
			Sandbox: sandbox.ModeOn, TrainerScratch: sandbox.DefaultScratch, TrainerProcesses: sandbox.DefaultProcesses,
			Trainers: []string{}, TrainerRead: []string{}, TrainerEnv: []string{}, Devices: []string{},
		},
		Signer: SignerConfig{Certificates: defaultCertificates, Users: []string{}, Allow: []string{},
			Rate: 100},
		Proposal: ProposalConfig{Wait: time.Second, StragglerWait: 250 * time.Millisecond},
		P2P:      P2PConfig{Gossip: GossipAnnounce, MembersOnly: true},
		Pool:     PoolConfig{MaxBytes: 256 << 20},
		Snapshot: SnapshotConfig{Interval: 1000},
		Explorer: ExplorerConfig{Laddr: "tcp://127.0.0.1:26680"},
		API:      APIConfig{Rate: 50, Burst: 100, MaxConnections: 512, MaxStreams: 256, StreamsPerClient: 64},
	}
}

// Validate checks the settings.
func (c AppConfig) Validate() error {
	if err := cmp.Or(c.Worker.validate(), c.Signer.Validate(), c.P2P.validate(), c.API.validate()); err != nil {
		return err
	}
	switch {
	case c.Node.Role != RoleMember && c.Node.Role != RoleRelay:
		return fmt.Errorf("node.role is %q, want %q or %q", c.Node.Role, RoleMember, RoleRelay)
	case c.IsRelay() && c.Worker.Enabled:
		return fmt.Errorf("node.role is %q and worker.enabled true, want false: a relay has no participant", RoleRelay)
	case c.Proposal.Wait <= 0 || c.Proposal.StragglerWait <= 0:
		return fmt.Errorf("proposal.wait is %v and straggler_wait %v, want above 0", c.Proposal.Wait,
			c.Proposal.StragglerWait)
	case c.Pool.MaxBytes <= 0:
		return fmt.Errorf("pool.max_bytes is %d, want above 0", c.Pool.MaxBytes)
	case c.Explorer.Enabled && !isListenable(c.Explorer.Laddr):
		return fmt.Errorf("explorer.laddr is %q, want an address to listen on, as tcp://127.0.0.1:26680, with a port "+
			"from 0 to 65535", c.Explorer.Laddr)
	}
	return nil
}

func (p P2PConfig) validate() error {
	if p.Gossip != GossipAnnounce && p.Gossip != GossipFlood {
		return fmt.Errorf("p2p.gossip is %q, want %q or %q", p.Gossip, GossipAnnounce, GossipFlood)
	}
	return cmp.Or(admission.CheckPeerIDs(p.AllowedPeers), admission.CheckRelays(p.Relays))
}

func (a APIConfig) validate() error {
	if !(a.Rate > 0) || a.Burst < 1 || a.MaxConnections < 1 || a.MaxStreams < 1 || a.StreamsPerClient < 1 {
		return fmt.Errorf("api.rate is %g, burst %d, max_connections %d, max_streams %d, streams_per_client %d, want "+
			"all above 0", a.Rate, a.Burst, a.MaxConnections, a.MaxStreams, a.StreamsPerClient)
	}
	return nil
}

func (w WorkerConfig) validate() error {
	switch {
	case w.Partition != PartitionIID && w.Partition != PartitionDirichlet:
		return fmt.Errorf("worker.partition is %q, want %q or %q", w.Partition, PartitionIID, PartitionDirichlet)
	case w.Partition == PartitionDirichlet && !(w.Alpha > 0):
		return fmt.Errorf("worker.alpha is %g, want above 0", w.Alpha)
	case w.Parts < 1 || w.Part < 0 || w.Part >= w.Parts:
		return fmt.Errorf("worker.part is %d of %d parts, want within [0, parts)", w.Part, w.Parts)
	case w.TrainerTimeout <= 0:
		return fmt.Errorf("worker.trainer_timeout is %v, want above 0", w.TrainerTimeout)
	case w.StepDelay < 0:
		return fmt.Errorf("worker.step_delay is %v, want at least 0", w.StepDelay)
	case !(w.MaxEpsilon >= 0) || !(w.MinNoiseMultiplier >= 0):
		return fmt.Errorf("worker.max_epsilon is %g and min_noise_multiplier %g, want at least 0", w.MaxEpsilon,
			w.MinNoiseMultiplier)
	}
	return cmp.Or(w.validateTrainer(), w.validateTrust())
}

// validateTrainer checks the settings of the trainer, its sandbox, the consent and the
// participant's signer.
func (w WorkerConfig) validateTrainer() error {
	if w.Sandbox != sandbox.ModeOn && w.Sandbox != sandbox.ModeOff {
		return fmt.Errorf("worker.sandbox is %q, want %q or %q", w.Sandbox, sandbox.ModeOn, sandbox.ModeOff)
	}
	if w.Consent != ConsentOff && w.Consent != ConsentAsk {
		return fmt.Errorf("worker.consent is %q, want %q or %q", w.Consent, ConsentOff, ConsentAsk)
	}
	if w.Signer != "" {
		if err := signer.CheckAddress(w.Signer); err != nil {
			return fmt.Errorf("worker.signer: %w", err)
		}
	}
	for _, hash := range w.Trainers {
		if !isHash(hash) {
			return fmt.Errorf("worker.trainers has %q, want 64 hex digits each: spdl trainer hash prints them", hash)
		}
	}
	return w.sandboxSettings().Validate()
}

// validateTrust checks the settings that only a worker outside of the node's process reads.
func (w WorkerConfig) validateTrust() error {
	switch {
	case w.TrustPeriod <= 0 || w.MaxAge <= 0:
		return fmt.Errorf("worker.trust_period is %v and max_age %v, want above 0", w.TrustPeriod, w.MaxAge)
	case w.TrustHeight < 0 || (w.TrustHeight == 0) != (w.TrustHash == "") || w.TrustHash != "" && !isHash(w.TrustHash):
		return fmt.Errorf("worker.trust_height is %d and trust_hash %q, want a height and the 64 hex digits of its "+
			"header's hash, or 0 and none", w.TrustHeight, w.TrustHash)
	}
	return nil
}

// isHash reports whether a text is a hash of 32 bytes in hexadecimal.
func isHash(text string) bool {
	hash, err := hex.DecodeString(text)
	return err == nil && len(hash) == 32
}

// isListenable reports whether an address, with or without a host, has a port from 0 to 65535.
func isListenable(address string) bool {
	_, port, err := net.SplitHostPort(strings.TrimPrefix(address, "tcp://"))
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// InHome returns path, a path in app.toml, as an absolute path. If path is relative, it begins in
// the home.
func InHome(c *config.Config, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.RootDir, path)
}
