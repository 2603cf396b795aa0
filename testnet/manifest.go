package testnet

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/spelling"
	"github.com/spdl/spdl/testnet/attack"
)

// Partitions lists the ways to divide the training set among the participants. The first is the default.
var Partitions = []string{home.PartitionIID, home.PartitionDirichlet}

// Manifest describes a localnet. The zero value of a field is its default.
type Manifest struct {
	// Validators is the number of nodes, each a validator and a participant. Default 4.
	Validators int `mapstructure:"validators"`
	// Relays is the number of additional nodes without keys. If there are relays, no validator
	// accepts connections: each validator dials all relays, and no other node.
	Relays int `mapstructure:"relays"`
	// Workers is the number of additional participants without a node. A few processes run their
	// workers, and each process serves many workers over one connection to a node.
	Workers int `mapstructure:"workers"`
	// Preset names the parameters. Default "default".
	Preset string `mapstructure:"preset"`
	// Params is a JSON file of parameters in place of a preset. A relative path in a manifest file
	// is relative to the file's folder.
	Params string `mapstructure:"params"`
	// Trainer is the program, with its arguments, that trains for every node's participant with an external model.
	// TrainerDir is its working directory. Default: the folder of the manifest file.
	Trainer    []string `mapstructure:"trainer"`
	TrainerDir string   `mapstructure:"trainer_dir"`
	// Sandbox and TrainerRead are worker.sandbox and worker.trainer_read of each home.
	Sandbox     string   `mapstructure:"sandbox"`
	TrainerRead []string `mapstructure:"trainer_read"`
	// Rounds replaces the preset's number of rounds where it is not 0.
	Rounds uint64 `mapstructure:"rounds"`
	// Rule replaces the preset's aggregation rule where it is not "".
	Rule string `mapstructure:"rule"`
	// Tolerance is how far a leader's Delta may be from the recomputed one, in grid steps in every
	// coordinate: delta of the paper's check. It replaces the preset's where it is not 0.
	Tolerance int64 `mapstructure:"tolerance"`
	// CommitReveal says whether participants commit to their gradients before any gradient is
	// revealed. Default: the parameters' value.
	CommitReveal *bool `mapstructure:"commit_reveal"`
	// StepDelay is added to every training step of every node, and to the proposers' wait.
	StepDelay time.Duration `mapstructure:"step_delay"`
	// Patience is added to the proposers' waits alone, for nets whose training steps are slow.
	Patience time.Duration `mapstructure:"patience"`
	// ChainID is the chain's id. Default "spdl-localnet".
	ChainID string `mapstructure:"chain_id"`
	// Port is node 0's RPC port. The next one is its p2p port, and two more follow for each node. Default: free ports.
	Port int `mapstructure:"port"`
	// Home is the folder of the nodes' homes, node0 to node<N-1>.
	Home string `mapstructure:"home"`
	// Data is a folder of IDX files, or a CSV file whose labels are in the column Label. A relative
	// path in a manifest file is relative to the file's folder. Default: the embedded MNIST. With a
	// preset, the model has the inputs and classes of the data.
	Data  string `mapstructure:"data"`
	Label string `mapstructure:"label"`
	// Sites are files with the rows of Data, one for each validator, which trains on its own. Without them Data is
	// dealt out. With a trainer each is worker.data of its node, and Data is not needed.
	Sites []string `mapstructure:"sites"`
	// Group is the column of the CSV file that names the group of each row, for example the patient.
	// It makes groups the unit of privacy. The file mnist.GroupsFile of a folder of images does too.
	Group string `mapstructure:"group"`
	// Schema is a JSON file of the table: columns, bounds, categories and what stands for a missing
	// value, in place of Label, Group and the file's own bounds.
	Schema string `mapstructure:"schema"`
	// Model is a JSON file of the model for the preset "external". Examples is the number of
	// training examples of each participant, for a preset whose data do not determine it.
	Model    string `mapstructure:"model"`
	Examples int    `mapstructure:"examples"`
	// Force makes a net even if its tables are too small for their epsilon (preset.CheckTable).
	Force bool `mapstructure:"force"`
	// Epsilon is the privacy budget of each participant, which sets the noise. Default: the
	// preset's. LearningRate replaces the preset's.
	Epsilon      float64 `mapstructure:"epsilon"`
	LearningRate float64 `mapstructure:"learning_rate"`
	// Batch replaces the preset's expected batch; the sampling rate and the noise follow.
	Batch int `mapstructure:"batch"`
	// Seed fixes the genesis seed, the partition and the noise. Noise from a known seed gives no privacy. With Seed 0 the
	// operating system draws the genesis seed and the noise, and the partition's seed is 0.
	Seed uint64 `mapstructure:"seed"`
	// Partition says how the training set is divided: "iid", or "dirichlet" with Alpha.
	Partition string  `mapstructure:"partition"`
	Alpha     float64 `mapstructure:"alpha"`
	// Neighbours is the number of persistent peers of each node. Default: all other nodes in a net of at most 10,
	// otherwise 8, but never fewer than f+1: with fewer, f faulty nodes can isolate a node.
	Neighbours int `mapstructure:"neighbours"`
	// Gossip is p2p.gossip of every node's app.toml. Default: the default of `spdl init`.
	Gossip string `mapstructure:"gossip"`
	// Strangers lets nodes connect that are not members' nodes. It sets p2p.members_only of every
	// node's app.toml to false.
	Strangers bool `mapstructure:"strangers"`
	// Memory keeps the nodes' databases in memory.
	Memory bool `mapstructure:"memory"`
	// Zones are the places of the nodes, and Routes the ways between zones. Default: no delay.
	Zones  []Zone  `mapstructure:"zone"`
	Routes []Route `mapstructure:"route"`
	// Perturb are the faults of a run.
	Perturb []Perturbation `mapstructure:"perturb"`
	// Attacks are the nodes whose participants misbehave.
	Attacks []Attack `mapstructure:"attack"`
	// Scripted maps a node to the gradients that it sends in place of its worker's. It is used for
	// colluders, and for nodes of a net in one process.
	Scripted map[int]attack.Script `mapstructure:"-"`
	// Adjust changes the parameters after all other settings. Only tests set it.
	Adjust func(*params.Params) `mapstructure:"-"`
	// GenesisTime is the chain's first block time. Default: now.
	GenesisTime time.Time `mapstructure:"-"`

	within context.Context // of Within; nil for none
}

// Check fills the defaults and returns an error if the manifest does not describe a possible localnet.
func (m *Manifest) Check() error {
	_, err := m.check()
	return err
}

// Within returns the manifest with a context whose end ends the trainers that Init tries.
func (m Manifest) Within(ctx context.Context) Manifest {
	m.within = ctx
	return m
}

// Parameters returns the chain's parameters, or the error of Check.
func (m Manifest) Parameters() (params.Params, error) { return m.check() }

// check also returns the chain's parameters. It reports all mistakes before the first home is made,
// because Init rejects a folder with the homes of a failed run.
func (m *Manifest) check() (params.Params, error) {
	if err := m.complete(); err != nil {
		return params.Params{}, err
	}
	p, err := m.params()
	if err == nil {
		if _, err = p.Validate(m.participants()); err != nil && m.Params != "" {
			err = fmt.Errorf("%s: %w", m.Params, err)
		}
	}
	if err == nil && !m.Force {
		err = preset.CheckTable(p, m.participants(), 0)
	}
	return p, err
}

// participants returns N.
func (m *Manifest) participants() int { return m.Validators + m.Workers }

// nodes returns the number of nodes: the validators', and after them the relays.
func (m *Manifest) nodes() int { return m.Validators + m.Relays }

// byzantine returns f, the number of faulty validators that the net withstands.
func (m *Manifest) byzantine() int { return params.MaxByzantine(m.Validators) }

// complete fills the defaults and checks the fields.
func (m *Manifest) complete() error {
	m.fill()
	if err := m.checkNet(); err != nil {
		return err
	}
	return cmp.Or(m.checkSettings(), m.checkZones(), m.checkFaults())
}

// fill sets the fields that are not given to their defaults.
func (m *Manifest) fill() {
	m.Validators, m.ChainID = cmp.Or(m.Validators, 4), cmp.Or(m.ChainID, "spdl-localnet")
	m.Partition, m.Alpha = cmp.Or(m.Partition, Partitions[0]), cmp.Or(m.Alpha, 1)
	m.Gossip = cmp.Or(m.Gossip, home.DefaultAppConfig().P2P.Gossip)
	if m.Preset == "" && m.Params == "" {
		m.Preset = preset.Names()[0]
	}
	if m.GenesisTime.IsZero() {
		m.GenesisTime = time.Now()
	}
	if _, n := m.Colluders(); n > 0 && m.Patience == 0 {
		m.Patience = time.Duration(m.participants()*(1+9*min(1, len(m.Trainer)))) * collusion // ten times for programs
	}
	if m.Neighbours == 0 {
		m.Neighbours = m.Validators - 1
		if m.Validators > 10 {
			m.Neighbours = max(8, m.byzantine()+1)
		}
	}
}

// checkNet checks how many nodes and workers there are, and how they are connected.
func (m *Manifest) checkNet() error {
	f := m.byzantine()
	switch {
	case m.Validators < 1 || m.Validators > maxValidators:
		return fmt.Errorf("%d validators, want 1 to %d on one machine", m.Validators, maxValidators)
	case m.Relays < 0 || m.Relays > maxRelays:
		return fmt.Errorf("%d relays, want 0 to %d", m.Relays, maxRelays)
	case m.Workers < 0 || m.participants() > gradients.MaxParticipants:
		return fmt.Errorf("%d workers beside %d validators, want 0 to %d", m.Workers, m.Validators,
			gradients.MaxParticipants-m.Validators)
	case m.Workers > 0 && len(m.Trainer) > 0:
		return fmt.Errorf("%d workers and a trainer: each would start a program of its own", m.Workers)
	case m.Validators > 1 && (m.Neighbours < f+1 || m.Neighbours >= m.Validators):
		return fmt.Errorf("%d neighbours of %d validators, want %d (f+1) to %d", m.Neighbours, m.Validators, f+1,
			m.Validators-1)
	case m.Gossip != home.GossipAnnounce && m.Gossip != home.GossipFlood:
		return fmt.Errorf("gossip is %q, want %q or %q", m.Gossip, home.GossipAnnounce, home.GossipFlood)
	}
	return nil
}

// checkSettings checks the settings of the chain and its workers.
func (m *Manifest) checkSettings() error {
	switch {
	case !slices.Contains(Partitions, m.Partition):
		return fmt.Errorf("partition is %q, want %q or %q", m.Partition, Partitions[0], Partitions[1])
	case !(m.Alpha > 0) || math.IsInf(m.Alpha, 0):
		return fmt.Errorf("alpha is %g, want a number above 0", m.Alpha)
	case m.StepDelay < 0 || m.StepDelay > maxStepDelay:
		return fmt.Errorf("step_delay is %v, want 0 to %v", m.StepDelay, maxStepDelay)
	case m.Patience < 0 || m.Patience > maxStepDelay:
		return fmt.Errorf("patience is %v, want 0 to %v", m.Patience, maxStepDelay)
	case m.ChainID != "" && home.CheckChainID(m.ChainID) != nil:
		return home.CheckChainID(m.ChainID)
	case len(m.Sites) > 0 && len(m.Sites) != m.participants():
		return fmt.Errorf("%d sites with %d participants, want one each", len(m.Sites), m.participants())
	case len(m.Sites) > 0 && len(m.Trainer) == 0 && !m.ownData():
		return fmt.Errorf("sites and data %q: without a trainer data names the file that has the rows of all", m.Data)
	case m.Params == "" && !slices.Contains(preset.AllNames(), m.Preset):
		return fmt.Errorf("unknown preset %q%s, want one of %s", m.Preset, spelling.Suggest(m.Preset, preset.AllNames()),
			strings.Join(preset.AllNames(), ", "))
	case m.Preset != "" && m.Params != "":
		return fmt.Errorf("preset %q and params %q, want one of them", m.Preset, m.Params)
	case m.Home == "":
		return fmt.Errorf("no home for the nodes")
	}
	return nil
}

// checkFaults checks the attacks and the perturbations.
func (m *Manifest) checkFaults() error {
	for _, x := range m.Attacks {
		if x.Node < 0 || x.Node >= m.Validators {
			return fmt.Errorf("%sattack by node %d, want 0 to %d", x.place, x.Node, m.Validators-1)
		}
		if err := attack.Check(x.Kind); err != nil {
			return fmt.Errorf("%s%w", x.place, err)
		}
	}
	if err := m.checkColluders(); err != nil {
		return err
	}
	for _, x := range m.Perturb {
		if err := x.validate(m.nodes()); err != nil {
			return fmt.Errorf("%s%w", x.place, err)
		}
	}
	return nil
}

// checkColluders checks the attack in which nodes collude, if there is one.
func (m *Manifest) checkColluders() error {
	kind, n := m.Colluders()
	var given, want []string
	for i := range n {
		want = append(want, fmt.Sprintf("%d=%s", i, kind))
	}
	for _, x := range m.Attacks {
		if attack.Colludes(x.Kind) {
			given = append(given, fmt.Sprintf("%d=%s", x.Node, x.Kind))
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(given)), slices.Sorted(slices.Values(want))) {
		return fmt.Errorf("attack %s: nodes that collude play one attack, and are the first nodes: want --attack %s, or the "+
			"same in the manifest", strings.Join(given, ","), strings.Join(want, ","))
	}
	switch {
	case n == 0:
		return nil
	case n == m.participants():
		return fmt.Errorf("attack %q by all %d participants, want one honest participant", kind, n)
	case len(m.Sites) > 0 || len(m.Trainer) > 0 && m.Workers > 0:
		return fmt.Errorf("attack %q in a net with sites, or with a trainer and workers: colluders compute the gradients of "+
			"data that are dealt out to validators", kind)
	case len(m.Trainer) > 0 && (strings.Contains(kind, "hidden-") || strings.HasSuffix(kind, "label-flip")):
		return fmt.Errorf("attack %q in a net with a trainer, want one that is made of vectors, as alie or mimic: this one "+
			"needs the slope of logits or other labels, which a trainer does not give", kind)
	case m.Seed == 0:
		return fmt.Errorf("attack %q, want a seed, from which colluders compute the gradients of the other nodes: add "+
			"--seed 1, or seed to the manifest", kind)
	}
	return nil
}

// HonestFirst returns the indices of the nodes, those without an attack first. Follow asks them in this order.
func (m *Manifest) HonestFirst() (nodes []int) {
	var attackers []int
	for i := range m.Validators {
		if slices.ContainsFunc(m.Attacks, func(x Attack) bool { return x.Node == i }) || m.Scripted[i] != nil {
			attackers = append(attackers, i)
		} else {
			nodes = append(nodes, i)
		}
	}
	return append(nodes, attackers...)
}

// Attack is a node whose participant misbehaves.
type Attack struct {
	Node int `mapstructure:"node"`
	// Kind is a behaviour of package attack, or an attack on gradients, in which the first nodes collude.
	Kind string `mapstructure:"kind"`

	place string // in the manifest's file, for errors; "" if the attack is of no file
}

// AttackKinds lists the behaviours that an attack can have, without the attacks on gradients.
func AttackKinds() []string { return attack.Kinds() }

// ParseAttacks reads attacks as NODE=KIND, where a node is its number, or the name that names has at it.
func ParseAttacks(texts []string, names ...string) (all []Attack, err error) {
	for _, text := range texts {
		node, kind, found := strings.Cut(text, "=")
		index, err := strconv.Atoi(node)
		if named := slices.Index(names, node); named >= 0 {
			index, err = named, nil
		}
		if !found || err != nil {
			return nil, fmt.Errorf("%q, want NODE=KIND, as 5=sign-flip, where a node is %s; kinds are %s", text,
				strings.Join(append([]string{"its number"}, names...), " or "), strings.Join(attack.Kinds(), ", "))
		}
		if err := attack.Check(kind); err != nil {
			return nil, err
		}
		all = append(all, Attack{Node: index, Kind: kind})
	}
	return all, nil
}

// Hooks returns the hooks that the manifest installs in node i.
func (m *Manifest) Hooks(i int) node.Hooks {
	if v := m.Scripted[i]; v != nil {
		return attack.Scripted(v)
	}
	return attack.Hooks(m.attack(i))
}

// attack returns the kind of node i's attack, or "" if it has none.
func (m *Manifest) attack(i int) string {
	for _, x := range m.Attacks {
		if x.Node == i {
			return x.Kind
		}
	}
	return ""
}

// Colluders returns the attack on gradients in which nodes collude, and their number; "" and 0 if there is none.
func (m *Manifest) Colluders() (kind string, n int) {
	for _, x := range m.Attacks {
		if attack.Colludes(x.Kind) {
			kind = x.Kind
			n++
		}
	}
	return kind, n
}

// collusion is the Patience a participant with colluders, who each train as all participants before they search.
const collusion = time.Second / 2

// maxStepDelay is the max StepDelay and the max Patience.
const maxStepDelay = time.Hour

// maxValidators and maxRelays bound a localnet.
const maxValidators, maxRelays = 100, 20
