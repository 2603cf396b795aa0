package node

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/spdl/spdl/app/trainer"
)

// AppConfig is app.toml: a node's own settings. Nothing of it can change a
// verdict; what all must agree on is in genesis.
type AppConfig struct {
	Worker   WorkerConfig   `mapstructure:"worker"`
	Proposal ProposalConfig `mapstructure:"proposal"`
	P2P      P2PConfig      `mapstructure:"p2p"`
	Pool     PoolConfig     `mapstructure:"pool"`
	Snapshot SnapshotConfig `mapstructure:"snapshot"`
	Retain   RetainConfig   `mapstructure:"retain"`
	Explorer ExplorerConfig `mapstructure:"explorer"`
	API      APIConfig      `mapstructure:"api"`
}

// WorkerConfig is the worker in the node's process.
type WorkerConfig struct {
	Enabled       bool          `mapstructure:"enabled"`
	KeyFile       string        `mapstructure:"key_file"`
	Journal       string        `mapstructure:"journal"`
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

	MaxEpsilon         float64 `mapstructure:"max_epsilon"`
	MinNoiseMultiplier float64 `mapstructure:"min_noise_multiplier"`

	TrustHeight int64         `mapstructure:"trust_height"`
	TrustHash   string        `mapstructure:"trust_hash"`
	TrustPeriod time.Duration `mapstructure:"trust_period"`
	MaxAge      time.Duration `mapstructure:"max_age"`
}

// ProposalConfig bounds how long a proposer and a leader wait.
type ProposalConfig struct {
	Wait          time.Duration `mapstructure:"wait"`
	StragglerWait time.Duration `mapstructure:"straggler_wait"`
}

// P2PConfig says how transactions spread.
type P2PConfig struct {
	Gossip string `mapstructure:"gossip"`
}

// The ways in which transactions spread.
const (
	GossipAnnounce = "announce"
	GossipFlood    = "flood"
)

// PoolConfig bounds the pending transactions.
type PoolConfig struct {
	MaxBytes int64 `mapstructure:"max_bytes"`
}

// SnapshotConfig is for state sync.
type SnapshotConfig struct {
	Interval uint64 `mapstructure:"interval"`
}

// RetainConfig bounds the past whose blocks the node keeps; zeros keep all.
type RetainConfig struct {
	Rounds  uint64 `mapstructure:"rounds"`
	Heights uint64 `mapstructure:"heights"`
}

// ExplorerConfig is the web pages in the node's process, and JSON under /v1.
type ExplorerConfig struct {
	Enabled bool   `mapstructure:"enabled"`
	Laddr   string `mapstructure:"laddr"`
	Eval    bool   `mapstructure:"eval"`
}

// APIConfig bounds what the explorer's listener takes.
type APIConfig struct {
	Hosts            string  `mapstructure:"hosts"` // separated by commas
	Rate             float64 `mapstructure:"rate"`
	Burst            int     `mapstructure:"burst"`
	MaxConnections   int     `mapstructure:"max_connections"`
	MaxStreams       int     `mapstructure:"max_streams"`
	StreamsPerClient int     `mapstructure:"streams_per_client"`
}

// The kinds of partition.
const (
	PartitionIID       = "iid"
	PartitionDirichlet = "dirichlet"
)

// DefaultAppConfig returns what init writes.
func DefaultAppConfig() AppConfig {
	return AppConfig{
		Worker: WorkerConfig{
			Enabled: true, KeyFile: "config/participant_key.json", Journal: "data/worker_journal.json",
			Partition: PartitionIID, Alpha: 1, Parts: 1, PollInterval: 50 * time.Millisecond,
			Trainer: []string{}, TrainerTimeout: trainer.DefaultTimeout, TrustPeriod: 7 * 24 * time.Hour, MaxAge: time.Minute,
		},
		Proposal: ProposalConfig{Wait: time.Second, StragglerWait: 250 * time.Millisecond},
		P2P:      P2PConfig{Gossip: GossipAnnounce},
		Pool:     PoolConfig{MaxBytes: 256 << 20},
		Snapshot: SnapshotConfig{Interval: 1000},
		Explorer: ExplorerConfig{Laddr: "tcp://127.0.0.1:26680"},
		API:      APIConfig{Rate: 50, Burst: 100, MaxConnections: 512, MaxStreams: 256, StreamsPerClient: 64},
	}
}

// Validate checks the settings.
func (c AppConfig) Validate() error {
	if err := c.Worker.validate(); err != nil {
		return err
	}
	switch {
	case c.Proposal.Wait <= 0 || c.Proposal.StragglerWait <= 0:
		return fmt.Errorf("proposal.wait is %v and straggler_wait %v, want above 0", c.Proposal.Wait, c.Proposal.StragglerWait)
	case c.P2P.Gossip != GossipAnnounce && c.P2P.Gossip != GossipFlood:
		return fmt.Errorf("p2p.gossip is %q, want %q or %q", c.P2P.Gossip, GossipAnnounce, GossipFlood)
	case c.Pool.MaxBytes <= 0:
		return fmt.Errorf("pool.max_bytes is %d, want above 0", c.Pool.MaxBytes)
	case c.Explorer.Enabled && !listenable(c.Explorer.Laddr):
		return fmt.Errorf("explorer.laddr is %q, want an address to listen on, as tcp://127.0.0.1:26680, with a port from 0 to 65535", c.Explorer.Laddr)
	case !(c.API.Rate > 0) || c.API.Burst < 1 || c.API.MaxConnections < 1 || c.API.MaxStreams < 1 || c.API.StreamsPerClient < 1:
		return fmt.Errorf("api.rate is %g, burst %d, max_connections %d, max_streams %d, streams_per_client %d, want all above 0",
			c.API.Rate, c.API.Burst, c.API.MaxConnections, c.API.MaxStreams, c.API.StreamsPerClient)
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
		return fmt.Errorf("worker.max_epsilon is %g and min_noise_multiplier %g, want at least 0", w.MaxEpsilon, w.MinNoiseMultiplier)
	}
	return w.validateTrust()
}

// validateTrust checks what only a worker in another process reads.
func (w WorkerConfig) validateTrust() error {
	switch {
	case w.TrustPeriod <= 0 || w.MaxAge <= 0:
		return fmt.Errorf("worker.trust_period is %v and max_age %v, want above 0", w.TrustPeriod, w.MaxAge)
	case w.TrustHeight < 0 || (w.TrustHeight == 0) != (w.TrustHash == "") || w.TrustHash != "" && !isHash(w.TrustHash):
		return fmt.Errorf("worker.trust_height is %d and trust_hash %q, want a height and the 64 hex digits of its header's hash, or 0 and none", w.TrustHeight, w.TrustHash)
	}
	return nil
}

// isHash reports whether a text is a hash of 32 bytes in hexadecimal.
func isHash(text string) bool {
	hash, err := hex.DecodeString(text)
	return err == nil && len(hash) == 32
}

// listenable reports whether an address is one of a host, or of all, with a port.
func listenable(address string) bool {
	_, port, err := net.SplitHostPort(strings.TrimPrefix(address, "tcp://"))
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

var appTemplate = template.Must(template.New("app.toml").Parse(`# SPDL's own settings of this node. CometBFT's are in config.toml, what all nodes
# must agree on is in genesis.json. Every key can be set in the environment as
# SPDL_SECTION_KEY.

[worker]
# Train in the node's process. With false, run "spdl worker" beside it.
enabled = {{ .Worker.Enabled }}
# The participant's ed25519 key, and the journal that keeps it from signing two
# gradients for one round. Relative to the home. Of a folder "spdl worker" takes every key.
key_file = {{ printf "%q" .Worker.KeyFile }}
journal = {{ printf "%q" .Worker.Journal }}
# Folder with the four IDX files of MNIST's format, plain or gzip, or for a chain whose
# genesis names the columns of a table a CSV file. "embedded": the embedded MNIST. Empty: the same on a chain with one participant, and on others the
# worker refuses to train.
data = {{ printf "%q" .Worker.Data }}
# This participant's share of the training set: part of parts, "iid" or
# "dirichlet" (label shares by Dirichlet(alpha)), by a seed that all share. With
# data of its own a participant takes part 0 of 1.
partition = {{ printf "%q" .Worker.Partition }}
alpha = {{ .Worker.Alpha }}
part = {{ .Worker.Part }}
parts = {{ .Worker.Parts }}
partition_seed = {{ .Worker.PartitionSeed }}
# The program that computes the gradients of an external model, and its arguments: no
# shell reads them. It is started in trainer_dir, relative to the home, and ended where an
# answer takes longer than trainer_timeout. docs/TRAINER.md says what it is asked.
trainer = [{{ range $i, $a := .Worker.Trainer }}{{ if $i }}, {{ end }}{{ printf "%q" $a }}{{ end }}]
trainer_dir = {{ printf "%q" .Worker.TrainerDir }}
trainer_timeout = "{{ .Worker.TrainerTimeout }}"
# Not 0: noise from this seed instead of the operating system. TEST CHAINS ONLY,
# whoever knows the seed removes the noise.
test_seed = {{ .Worker.TestSeed }}
# Time that is added to every training step, to play a task whose steps are slow.
step_delay = "{{ .Worker.StepDelay }}"
# Write the loss of every batch to the log. It is computed from your examples without
# noise, and no epsilon pays for it: whoever reads the log learns of them.
log_loss = {{ .Worker.LogLoss }}
# What this home demands of its chain's privacy, whatever the others vote for: the most
# epsilon that its gradients may spend in all, and the least noise multiplier of an
# epoch. 0: config/genesis.json decides for the first epoch, the members for later ones.
max_epsilon = {{ .Worker.MaxEpsilon }}
min_noise_multiplier = {{ .Worker.MinNoiseMultiplier }}
# How often a worker in another process asks a node that announces no blocks.
poll_interval = "{{ .Worker.PollInterval }}"
# Where the trust of a worker in another process begins: a header by height and hash,
# from somebody whom you believe and not from its node. 0 and "": the first header of
# config/genesis.json. A header is believed for trust_period. The node's last header may
# be max_age old.
trust_height = {{ .Worker.TrustHeight }}
trust_hash = {{ printf "%q" .Worker.TrustHash }}
trust_period = "{{ .Worker.TrustPeriod }}"
max_age = "{{ .Worker.MaxAge }}"

[proposal]
# How long this node, as proposer, waits for the round to be whole. Keep it
# above a learning step and below consensus.timeout_propose in config.toml.
wait = "{{ .Proposal.Wait }}"
# How long a proposer or leader that has N-f gradients waits for the rest.
straggler_wait = "{{ .Proposal.StragglerWait }}"

[p2p]
# How transactions reach the other nodes. "announce": the node that one is submitted to
# sends it to its peers, the others announce it and send it to whom asks; and parts of
# blocks are left to who sent them. "flood": as CometBFT does, each node sends each to all
# peers that have not sent it first.
gossip = {{ printf "%q" .P2P.Gossip }}

[pool]
# Most bytes of pending transactions.
max_bytes = {{ .Pool.MaxBytes }}

[snapshot]
# Heights between two snapshots for state sync; 0 takes none.
interval = {{ .Snapshot.Interval }}

[retain]
# Keep the blocks of so many rounds and of so many heights, whichever reaches
# further back, and drop older ones; 0 and 0 keep all. A node that dropped blocks
# serves no audit from the first block on: at least two nodes should keep all.
rounds = {{ .Retain.Rounds }}
heights = {{ .Retain.Heights }}

[explorer]
# Web pages about the training, and the same as JSON under /v1. Read only.
enabled = {{ .Explorer.Enabled }}
# Keep it on loopback. To show the pages to others, put a proxy with TLS in front.
laddr = {{ printf "%q" .Explorer.Laddr }}
# Measure the model after every round: on the test set of worker.data, which takes
# a core some milliseconds a round; an external model by a trainer of its own,
# which worker.trainer names and which runs beside the worker's.
eval = {{ .Explorer.Eval }}

[api]
# Names that the explorer is served under, separated by commas, beside addresses
# and localhost. A request for another name is refused.
hosts = {{ printf "%q" .API.Hosts }}
# Requests a second of one client on average, and at once. A client is an IPv4
# address or an IPv6 /64; behind a proxy all are one, which then has to limit.
rate = {{ .API.Rate }}
burst = {{ .API.Burst }}
# Most connections, event streams among them, and streams of one client. A client
# has a quarter of the connections, or 16 more than its streams where that is more.
max_connections = {{ .API.MaxConnections }}
max_streams = {{ .API.MaxStreams }}
streams_per_client = {{ .API.StreamsPerClient }}
`))

// WriteFile writes the settings, commented, as config/app.toml of a home.
func (c AppConfig) WriteFile(home string) error {
	f, err := os.Create(filepath.Join(home, "config", "app.toml"))
	if err != nil {
		return err
	}
	if err := appTemplate.Execute(f, c); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
