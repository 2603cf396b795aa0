package home

import (
	"cmp"
	_ "embed" // of app.toml
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app/worker/signer"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// AppConfig is the content of app.toml: the settings of one node. No setting can change which
// transactions and blocks are valid. Settings on which all nodes must agree are in the genesis.
type AppConfig struct {
	Node     NodeConfig     `toml:"node"`
	Worker   WorkerConfig   `toml:"worker"`
	Signer   SignerConfig   `toml:"signer"`
	Proposal ProposalConfig `toml:"proposal"`
	P2P      P2PConfig      `toml:"p2p"`
	Pool     PoolConfig     `toml:"pool"`
	Snapshot SnapshotConfig `toml:"snapshot"`
	Retain   store.Retain   `toml:"retain"`
	Explorer ExplorerConfig `toml:"explorer"`
	API      APIConfig      `toml:"api"`
}

// NodeConfig holds the role of the node in its chain.
type NodeConfig struct {
	Role string `toml:"role"`
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
	Enabled       bool     `toml:"enabled"`
	KeyFile       string   `toml:"key_file"`
	Journal       string   `toml:"journal"`
	Signer        string   `toml:"signer"`
	SignerCerts   string   `toml:"signer_certificates"`
	Data          string   `toml:"data"`
	Partition     string   `toml:"partition"`
	Alpha         float64  `toml:"alpha"`
	Part          int      `toml:"part"`
	Parts         int      `toml:"parts"`
	PartitionSeed uint64   `toml:"partition_seed"`
	TestSeed      uint64   `toml:"test_seed"`
	StepDelay     Duration `toml:"step_delay"`
	LogLoss       bool     `toml:"log_loss"`
	PollInterval  Duration `toml:"poll_interval"`

	Trainer        []string `toml:"trainer"`
	TrainerDir     string   `toml:"trainer_dir"`
	TrainerTimeout Duration `toml:"trainer_timeout"`

	Trainers         []string `toml:"trainers"`
	Sandbox          string   `toml:"sandbox"`
	TrainerMemory    int64    `toml:"trainer_memory"`
	TrainerScratch   int64    `toml:"trainer_scratch"`
	TrainerProcesses int      `toml:"trainer_processes"`
	TrainerRead      []string `toml:"trainer_read"`
	TrainerEnv       []string `toml:"trainer_env"`
	Devices          []string `toml:"devices"`

	Consent            string  `toml:"consent"`
	Unit               string  `toml:"unit"`
	MaxEpsilon         float64 `toml:"max_epsilon"`
	MinNoiseMultiplier float64 `toml:"min_noise_multiplier"`

	TrustHeight int64    `toml:"trust_height"`
	TrustHash   string   `toml:"trust_hash"`
	TrustPeriod Duration `toml:"trust_period"`
	MaxAge      Duration `toml:"max_age"`
}

// SignerConfig is the section [signer] of app.toml: the settings of spdl signer, a process that
// holds the keys of this home for a node in another home.
type SignerConfig struct {
	Connect      string   `toml:"connect"`
	NodeID       string   `toml:"node_id"`
	Listen       string   `toml:"listen"`
	Certificates string   `toml:"certificates"`
	Users        []string `toml:"users"`
	Allow        []string `toml:"allow"`
	Rate         float64  `toml:"rate"`
}

// ProposalConfig bounds the times that a proposer and a leader wait for gradients.
type ProposalConfig struct {
	Wait          Duration `toml:"wait"`
	StragglerWait Duration `toml:"straggler_wait"`
}

// P2PConfig sets how transactions spread, and which nodes may connect.
type P2PConfig struct {
	Gossip       string `toml:"gossip"`
	MembersOnly  bool   `toml:"members_only"`
	AllowedPeers string `toml:"allowed_peers"` // node ids, separated by commas
	Relays       string `toml:"relays"`        // id@host:port, separated by commas
}

// These are the values of p2p.gossip: the ways in which transactions spread.
const (
	GossipAnnounce = "announce"
	GossipFlood    = "flood"
)

// PoolConfig bounds the pending transactions.
type PoolConfig struct {
	MaxBytes int64 `toml:"max_bytes"`
}

// SnapshotConfig sets the snapshots for state sync.
type SnapshotConfig struct {
	Interval uint64 `toml:"interval"`
}

// ExplorerConfig is the section [explorer] of app.toml. The explorer runs in the node's process,
// and serves web pages, and JSON under /v1.
type ExplorerConfig struct {
	Enabled bool   `toml:"enabled"`
	Laddr   string `toml:"laddr"`
	Eval    bool   `toml:"eval"`
	Gain    bool   `toml:"gain"`
}

// APIConfig limits the host names, requests and connections of the explorer's listener.
type APIConfig struct {
	Hosts            string  `toml:"hosts"` // host names, separated by commas
	Rate             float64 `toml:"rate"`
	Burst            int     `toml:"burst"`
	MaxConnections   int     `toml:"max_connections"`
	MaxStreams       int     `toml:"max_streams"`
	StreamsPerClient int     `toml:"streams_per_client"`
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

// Duration is a time in a file, as "500ms".
type Duration struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	if d.Duration, err = time.ParseDuration(string(text)); err != nil {
		err = fmt.Errorf("%q, want %s", text, aDuration)
	}
	return err
}

// defaultApp is app.toml of a new home. It has every key with its default, beneath the one text about the key, from
// which the table in docs/CONFIGURATION.md is made too (TestReference).
//
//go:embed app.toml
var defaultApp []byte

// DefaultAppConfig returns the settings of a new home.
func DefaultAppConfig() (c AppConfig) {
	if err := DecodeTOML("app.toml", defaultApp, &c); err != nil {
		panic(err) // the file is part of the program
	}
	return c
}

// WriteFile writes the settings with the texts about them to config/app.toml of a home.
func (c AppConfig) WriteFile(home string) error {
	doc, defaults := defaultApp, appendSettings(nil, "app.toml", "", reflect.ValueOf(DefaultAppConfig()))
	for i, s := range appendSettings(nil, "app.toml", "", reflect.ValueOf(c)) {
		if s.String() == defaults[i].String() {
			continue
		}
		literal, err := s.literal(s.String())
		if err == nil {
			doc, err = replaceValue(doc, s.Key, literal)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(home, "config", "app.toml"), doc, 0o666)
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
	case c.Proposal.Wait.Duration <= 0 || c.Proposal.StragglerWait.Duration <= 0:
		return fmt.Errorf("proposal.wait is %v and straggler_wait %v, want above 0", c.Proposal.Wait,
			c.Proposal.StragglerWait)
	case c.Pool.MaxBytes <= 0:
		return fmt.Errorf("pool.max_bytes is %d, want above 0", c.Pool.MaxBytes)
	case !isListenable(c.Explorer.Laddr):
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
		return fmt.Errorf("worker.part is %d of %d parts, want 0 to parts-1: spdl config set worker.part 0 worker.parts 1 "+
			"sets both, and a file of one's own has one part", w.Part, w.Parts)
	case w.TrainerTimeout.Duration <= 0 || w.PollInterval.Duration <= 0:
		return fmt.Errorf("worker.trainer_timeout is %v and poll_interval %v, want above 0", w.TrainerTimeout, w.PollInterval)
	case w.StepDelay.Duration < 0:
		return fmt.Errorf("worker.step_delay is %v, want at least 0", w.StepDelay)
	case !(w.MaxEpsilon >= 0) || !(w.MinNoiseMultiplier >= 0):
		return fmt.Errorf("worker.max_epsilon is %g and min_noise_multiplier %g, want at least 0", w.MaxEpsilon,
			w.MinNoiseMultiplier)
	}
	return cmp.Or(w.validateTrainer(), w.validateTrust())
}

// validateTrainer checks the settings of the trainer, its sandbox, the consent and the participant's signer.
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
	case w.TrustPeriod.Duration <= 0 || w.MaxAge.Duration <= 0:
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

// InHome returns path, a path in app.toml, as an absolute path. If path is relative, it begins in the home.
func InHome(c *config.Config, path string) string { return sandbox.From(c.RootDir, path) }
