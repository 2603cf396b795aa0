package testnet

import (
	"fmt"
	"path/filepath"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
)

// Crowd is the home of many participants without a node, whose workers one process runs.
type Crowd struct {
	Home  string `json:"home"`
	Count int    `json:"participants"`

	first int // index of its first participant
}

// perCrowd is the max number of workers of a process. Each process executes every block, so few
// processes are better than many.
const perCrowd = 1024

// crowds deals the manifest's workers out to processes.
func (m *Manifest) crowds() (all []Crowd) {
	for first := m.Validators; first < m.participants(); first += perCrowd {
		home := filepath.Join(m.Home, fmt.Sprintf("workers%d", len(all)))
		all = append(all, Crowd{Home: home, Count: min(perCrowd, m.participants()-first), first: first})
	}
	return all
}

// addCrowds makes the homes of the manifest's workers, and their participants.
func (n *Net) addCrowds() error {
	m := n.Manifest
	for g, crowd := range m.crowds() {
		c, a := home.DefaultConfig(), home.DefaultAppConfig()
		c.Moniker = filepath.Base(crowd.Home)
		c.RPC.ListenAddress = n.Nodes[g%len(n.Nodes)].RPC // of the node that its workers query
		a.Worker.KeyFile = "config/participants"
		m.worker(&a.Worker, crowd.first)
		keys, err := home.InitCrowd(crowd.Home, c, a, crowd.Count)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Moniker, err)
		}
		for k, own := range keys {
			i := crowd.first + k
			p := app.NewParticipant(uint32(i), home.Identity(own, nil, fmt.Sprintf("worker%d", i)), n.Genesis.Params.Reputation)
			p.VrfProof = app.ProveGenesis(m.ChainID, n.Genesis.Seed, own.VRF)
			n.Genesis.Participants = append(n.Genesis.Participants, p)
		}
		n.Crowds = append(n.Crowds, crowd)
	}
	return nil
}
