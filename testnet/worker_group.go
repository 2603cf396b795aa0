package testnet

import (
	"fmt"
	"path/filepath"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
)

// WorkerGroup is the home of many participants without a node, whose workers one process runs.
type WorkerGroup struct {
	Home  string `json:"home"`
	Count int    `json:"participants"`

	first int // index of its first participant
}

// maxGroupWorkers is the max number of workers of a process. Each process executes every block, so
// few processes are better than many.
const maxGroupWorkers = 1024

// workerGroups divides the manifest's workers among processes.
func (m *Manifest) workerGroups() (all []WorkerGroup) {
	for first := m.Validators; first < m.participants(); first += maxGroupWorkers {
		home := filepath.Join(m.Home, fmt.Sprintf("workers%d", len(all)))
		all = append(all, WorkerGroup{Home: home, Count: min(maxGroupWorkers, m.participants()-first), first: first})
	}
	return all
}

// addWorkerGroups makes the homes of the manifest's workers, and their participants.
func (n *Net) addWorkerGroups() error {
	m := n.Manifest
	for g, group := range m.workerGroups() {
		c, a := home.DefaultConfig(), home.DefaultAppConfig()
		c.Moniker = filepath.Base(group.Home)
		c.RPC.ListenAddress = n.Nodes[g%m.Validators].RPC // of the node that its workers query
		a.Worker.KeyFile = "config/participants"
		m.worker(&a.Worker, group.first)
		keys, err := home.InitWorkerGroup(group.Home, c, a, group.Count)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Moniker, err)
		}
		for k, own := range keys {
			i := group.first + k
			p := app.NewParticipant(uint32(i), home.Identity(own, nil, fmt.Sprintf("worker%d", i)), n.Genesis.Params.Reputation)
			p.VrfProof = app.ProveGenesis(m.ChainID, n.Genesis.Seed, own.VRF)
			n.Genesis.Participants = append(n.Genesis.Participants, p)
		}
		n.WorkerGroups = append(n.WorkerGroups, group)
	}
	return nil
}
