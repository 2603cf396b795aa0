package testnet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/home"
)

// Made reports whether a folder holds a localnet that Init made.
func Made(home string) bool {
	_, err := os.Stat(filepath.Join(home, manifestFile))
	return err == nil
}

// Stopped returns an error if a process runs the net.
func (n *Net) Stopped() error {
	held, err := home.LockValidator(n.Nodes[0].home.Config)
	if err != nil {
		return fmt.Errorf("the net in %s runs already (ask it with --home %s, or stop it first): %w", n.Manifest.Home,
			n.Nodes[0].Home, err)
	}
	return held.Close()
}

// Misbehaving returns the net and the number of the node with that home if the manifest in the
// parent folder lists an attack by the node. A node misbehaves only if a manifest says so.
func Misbehaving(home string) (*Net, int, error) {
	n, err := load(filepath.Dir(home))
	if err != nil {
		return nil, 0, err
	}
	for _, x := range n.Manifest.Attacks {
		if filepath.Base(home) == nodeName(x.Node) {
			return n, x.Node, nil
		}
	}
	return nil, 0, fmt.Errorf("no attack of %s is by %s", filepath.Join(filepath.Dir(home), manifestFile),
		filepath.Base(home))
}

// Described returns the manifest of the localnet in a folder, an empty one if the folder holds none.
func Described(folder string) (Manifest, error) {
	if !Made(folder) {
		return Manifest{}, nil
	}
	return LoadManifest(filepath.Join(folder, manifestFile))
}

// Attackers returns the kinds of attack that the manifest names, by participant.
func (m Manifest) Attackers() map[uint32]string {
	out := map[uint32]string{}
	for _, x := range m.Attacks {
		out[uint32(x.Node)] = x.Kind
	}
	return out
}

// CheckTrainer returns an error if the trainer of node 0, or that of a site, does not start on the parameters of the
// genesis. A later epoch may have others.
func (n *Net) CheckTrainer() error { return n.Manifest.checkTrainer(n.Genesis.Params) }

// warnOfAttackers adds a warning if more nodes attack than the rule withstands.
func (n *Net) warnOfAttackers() {
	nodes := n.Manifest.Attackers()
	if f := int(n.Genesis.Params.Rule.Byzantine); len(nodes) > f {
		s := map[bool]string{false: "s"}[len(nodes) == 1]
		n.Warnings = append(n.Warnings, fmt.Sprintf("%d attacker%s, and the rule withstands %d: the model may be ruined",
			len(nodes), s, f))
	}
}

// nodeName returns node i's folder, and its moniker unless that is the name of its site.
func nodeName(i int) string { return fmt.Sprintf("node%d", i) }

// Open reads a localnet that Init made, with its homes as they are now, to start or resume it.
func Open(home string) (*Net, error) {
	n, err := load(home)
	if err == nil && n.Manifest.Memory {
		return nil, fmt.Errorf("%s is a net with its databases in memory, nothing is left of it", home)
	}
	return n, err
}

// load reads a localnet that may have its databases in memory.
func load(folder string) (*Net, error) {
	m, err := LoadManifest(filepath.Join(folder, manifestFile))
	if err != nil {
		return nil, err
	}
	m.Home = folder
	if err := m.complete(); err != nil {
		return nil, err
	}
	n := &Net{Manifest: m, WorkerGroups: m.workerGroups(), opened: true}
	for i := range m.nodes() {
		dir := filepath.Join(folder, nodeName(i))
		c, a, err := home.Load(dir)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		n.Nodes = append(n.Nodes, Node{
			Home: dir, RPC: c.RPC.ListenAddress, P2P: strings.TrimPrefix(c.P2P.ListenAddress, "tcp://"),
			home: &home.Home{Dir: dir, Config: c}, app: a,
		})
	}
	doc, err := genesis.ReadFile(n.Nodes[0].home.Config.GenesisFile())
	if err != nil {
		return nil, err
	}
	if n.Genesis, n.Warnings, err = home.CheckGenesis(doc); err != nil {
		return nil, err
	}
	n.warnOfAttackers()
	return n, nil
}
