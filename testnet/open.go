package testnet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/testnet/attack"
)

// Made reports whether a folder holds a localnet that Init made.
func Made(home string) bool {
	_, err := os.Stat(filepath.Join(home, manifestFile))
	return err == nil
}

// Misbehaviour returns how the node of a home misbehaves, as the manifest beside the home says.
// Nothing else makes a node misbehave.
func Misbehaviour(home string) (kind string, err error) {
	home, err = filepath.Abs(home)
	if err != nil {
		return "", err
	}
	m, err := LoadManifest(filepath.Join(filepath.Dir(home), manifestFile))
	if err != nil {
		return "", err
	}
	for _, x := range m.Attacks {
		if filepath.Base(home) == nodeName(x.Node) {
			return x.Kind, attack.Check(x.Kind)
		}
	}
	return "", fmt.Errorf("no attack of %s is by %s", filepath.Join(filepath.Dir(home), manifestFile), filepath.Base(home))
}

// nodeName returns node i's folder and moniker.
func nodeName(i int) string { return fmt.Sprintf("node%d", i) }

// Open reads a localnet that Init made, with its homes as they are now, to
// start it, or to go on where it stopped.
func Open(home string) (*Net, error) {
	m, err := LoadManifest(filepath.Join(home, manifestFile))
	if err != nil {
		return nil, err
	}
	m.Home = home
	if err := m.complete(); err != nil {
		return nil, err
	}
	if m.Memory {
		return nil, fmt.Errorf("%s is a net with its databases in memory, nothing is left of it", home)
	}
	n := &Net{Manifest: m, Crowds: m.crowds(), opened: true}
	for i := range m.Validators {
		dir := filepath.Join(home, nodeName(i))
		c, a, err := node.Load(dir)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		n.Nodes = append(n.Nodes, Node{
			Home: dir, RPC: c.RPC.ListenAddress, P2P: strings.TrimPrefix(c.P2P.ListenAddress, "tcp://"),
			home: &node.Home{Dir: dir, Config: c}, app: a,
		})
	}
	doc, err := abci.ReadGenesisFile(n.Nodes[0].home.Config.GenesisFile())
	if err != nil {
		return nil, err
	}
	n.Genesis, n.Warnings, err = node.CheckGenesis(doc)
	return n, err
}
