package home

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
)

// appTemplate is the template of app.toml, with a comment for every key.
var appTemplate = template.Must(template.New("app.toml").Funcs(template.FuncMap{"list": tomlList}).Parse(
	`# SPDL's own settings of this node. CometBFT's are in config.toml, what all nodes
# must agree on is in genesis.json. Every key can be set in the environment as
# SPDL_SECTION_KEY.

[node]
# "member", or "relay": a node that forwards what members send, for members whose nodes
# listen nowhere. A relay has no participant and no validator, and signs nothing.
role = {{ printf "%q" .Node.Role }}

[worker]
# Train in the node's process. With false, run "spdl worker" beside it.
enabled = {{ .Worker.Enabled }}
# The participant's ed25519 key, and the journal that keeps it from signing two
# gradients for one round. Relative to the home. If key_file is a folder, "spdl worker" takes
# every key in it.
key_file = {{ printf "%q" .Worker.KeyFile }}
journal = {{ printf "%q" .Worker.Journal }}
# Where the participant's keys and journal are, if not in this home: at spdl signer, as
# unix:///run/spdl/signer.sock or tcp://host:port. "": in this home. Over TCP both sides have
# certificates, in a folder that spdl signer init makes.
signer = {{ printf "%q" .Worker.Signer }}
signer_certificates = {{ printf "%q" .Worker.SignerCerts }}
# What it trains on: a folder with four IDX files of MNIST's format, plain or gzip, or a CSV
# file for a chain whose genesis names the columns of a table. "embedded" is the embedded
# MNIST. Empty is the same on a chain with one participant; on others the worker refuses to
# train.
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
trainer = {{ list .Worker.Trainer }}
trainer_dir = {{ printf "%q" .Worker.TrainerDir }}
trainer_timeout = "{{ .Worker.TrainerTimeout }}"
# Hashes of code that may run beside the one that the epoch's model.trainer names, as
# spdl trainer hash prints them. If this list is empty and the epoch names no hash, any code may run.
trainers = {{ list .Worker.Trainers }}
# "on": the trainer reads its own folder, its interpreter and worker.data, writes one scratch
# folder ($TMPDIR), has no network, and ends with the worker. If the kernel cannot contain the
# trainer, the trainer is not started. "off": it runs with all rights of this node, as the node's status says.
sandbox = {{ printf "%q" .Worker.Sandbox }}
# The max bytes of memory of all its processes together (0: half of the machine's) and of its
# scratch folder, and the max number of processes and threads. A trainer that takes more is ended.
trainer_memory = {{ .Worker.TrainerMemory }}
trainer_scratch = {{ .Worker.TrainerScratch }}
trainer_processes = {{ .Worker.TrainerProcesses }}
# What else it may read: files and folders, relative to trainer_dir.
trainer_read = {{ list .Worker.TrainerRead }}
# Variables of the environment that it gets beside PATH, LANG, TZ and those of thread counts:
# NAME, as the node has it, or NAME=VALUE.
trainer_env = {{ list .Worker.TrainerEnv }}
# Devices that it may use, as /dev/nvidia0, /dev/nvidiactl and /dev/nvidia-uvm.
devices = {{ list .Worker.Devices }}
# Not 0: noise from this seed instead of the operating system. TEST CHAINS ONLY,
# anyone who knows the seed removes the noise.
test_seed = {{ .Worker.TestSeed }}
# Time that is added to every training step, to play a task whose steps are slow.
step_delay = "{{ .Worker.StepDelay }}"
# Write the loss of every batch to the log. It is computed from your examples without
# noise, and no epsilon pays for it: a reader of the log learns of them.
log_loss = {{ .Worker.LogLoss }}
# "ask": an epoch trains on this home's data once spdl consent EPOCH has agreed to its parameters;
# until then, and after spdl consent EPOCH --reject, the participant is absent. "off": every epoch
# trains that the two bounds below permit.
consent = {{ printf "%q" .Worker.Consent }}
# What this home demands of its chain's privacy, whatever the others vote for: the max
# epsilon that its gradients may spend in all, and the min noise multiplier of an
# epoch. 0: config/genesis.json decides for the first epoch, the members for later ones.
max_epsilon = {{ .Worker.MaxEpsilon }}
min_noise_multiplier = {{ .Worker.MinNoiseMultiplier }}
# For what they count: "example", "group:COLUMN" of a table, "group" of images, or
# "group-by-config:HASH" of an external model. An epoch with another unit of privacy is
# not trained in. "": that of the first gradient, which the journal records.
unit = {{ printf "%q" .Worker.Unit }}
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

[signer]
# For spdl signer, which holds the keys of this home for a node elsewhere. With connect it signs
# blocks: the priv_validator_laddr of the node, whose id is node_id for an address of TCP.
connect = {{ printf "%q" .Signer.Connect }}
node_id = {{ printf "%q" .Signer.NodeID }}
# With listen it signs for the participant: the address of the node's worker.signer, as
# unix:///run/spdl/signer.sock or tcp://host:port.
listen = {{ printf "%q" .Signer.Listen }}
certificates = {{ printf "%q" .Signer.Certificates }}
# Users of this host, by name or number, that may connect to the socket beside its own: this one, or
# that of priv_validator_laddr in a node's home.
users = {{ list .Signer.Users }}
# What it signs beside gradients, aggregates and their commitments: kinds of operations, as
# "approve", and "consent".
allow = {{ list .Signer.Allow }}
# Most signatures a second, on average.
rate = {{ .Signer.Rate }}

[proposal]
# How long this node, as proposer, waits for the round to be whole. Keep it
# above a learning step and below consensus.timeout_propose in config.toml.
wait = "{{ .Proposal.Wait }}"
# How long a proposer or leader that has N-f gradients waits for the rest.
straggler_wait = "{{ .Proposal.StragglerWait }}"

[p2p]
# How transactions reach the other nodes. "announce": the node that one is submitted to
# sends it to its peers, the other nodes announce it and send it on request; and a block
# travels as the hashes of its transactions. "flood": as CometBFT does, each node sends each
# transaction and each part of a block to all peers that have not sent it first.
gossip = {{ printf "%q" .P2P.Gossip }}
# Let in the nodes of active members, the persistent peers of config.toml, relays and
# allowed_peers alone, once every member has registered its nodes. With false, everybody.
members_only = {{ .P2P.MembersOnly }}
# Ids of other nodes to let in, separated by commas: of newcomers, and of nodes that follow the
# chain. A node that runs reads a changed list, and a changed members_only, within seconds.
allowed_peers = {{ printf "%q" .P2P.AllowedPeers }}
# Relays as id@host:port, separated by commas, which this node dials and lets in beside its
# other peers. With relays, p2p.laddr of config.toml may be "": the node then dials alone.
relays = {{ printf "%q" .P2P.Relays }}

[pool]
# Most bytes of pending transactions.
max_bytes = {{ .Pool.MaxBytes }}

[snapshot]
# Heights between two snapshots for state sync; 0 takes none.
interval = {{ .Snapshot.Interval }}

[retain]
# Keep the blocks of this many rounds and of this many heights, whichever reaches
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
# Names that the explorer, and the RPC over loopback, are served under, separated by
# commas, beside addresses and localhost. A request for another name is refused.
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

// tomlList returns a list of texts as a TOML array.
func tomlList(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// WriteFile writes the settings with their comments to config/app.toml of a home.
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
