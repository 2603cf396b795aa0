//go:build e2e

package e2e

import (
	"slices"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// cells is the matrix. A new cell is a line here; how to write one is in docs/LAB.md.
func cells() []cell {
	return slices.Concat(processCells, linkCells, damageCells, clockCells, syncCells, byzantineCells, crowdCells,
		upgradeCells)
}

// Processes end, stop and come back.
var processCells = []cell{
	{name: "kill", faults: struck(testnet.Perturbation{Action: testnet.Kill, For: 2 * time.Second})},
	{name: "kill-committed", reveal: true, faults: struck(testnet.Perturbation{Action: testnet.Kill,
		For: 2 * time.Second})},
	{name: "kill-all", faults: everybody(testnet.Perturbation{Action: testnet.Kill})},
	{name: "restart", faults: struck(testnet.Perturbation{Action: testnet.Restart, For: 2 * time.Second})},
	{name: "restart-rolling", faults: inTurn(testnet.Perturbation{Action: testnet.Restart}, 4*time.Second)},
	{name: "pause", faults: struck(testnet.Perturbation{Action: testnet.Pause, For: 5 * time.Second})},
	{name: "pause-majority", faults: majority(testnet.Perturbation{Action: testnet.Pause, For: 5 * time.Second})},
	{name: "disk-full", faults: struck(testnet.Perturbation{Action: testnet.DiskFull, For: 3 * time.Second})},
	{name: "disk-full-all", faults: everybody(testnet.Perturbation{Action: testnet.DiskFull, For: 3 * time.Second})},
}

// Links fail and are slow.
var linkCells = []cell{
	{name: "disconnect", faults: struck(testnet.Perturbation{Action: testnet.Disconnect, For: 8 * time.Second})},
	{name: "disconnect-out", faults: struck(testnet.Perturbation{Action: testnet.Disconnect, Way: testnet.Out,
		For: 8 * time.Second})},
	{name: "disconnect-in", faults: struck(testnet.Perturbation{Action: testnet.Disconnect, Way: testnet.In,
		For: 8 * time.Second})},
	{name: "disconnect-a-minute", long: true, faults: struck(testnet.Perturbation{Action: testnet.Disconnect,
		For: time.Minute})},
	{name: "split-halves", faults: halves(8*time.Second, 1)},
	{name: "flapping", faults: halves(2*time.Second, 4)},
	{name: "slow-links", faults: struck(testnet.Perturbation{Action: testnet.Slow, Delay: 200 * time.Millisecond,
		Jitter: 50 * time.Millisecond, For: 8 * time.Second})},
	{name: "wide-area", faults: everybody(testnet.Perturbation{Action: testnet.Slow, Delay: 50 * time.Millisecond,
		Jitter: 10 * time.Millisecond, For: 10 * time.Second})},
	{name: "lossy", faults: everybody(testnet.Perturbation{Action: testnet.Slow, Delay: 5 * time.Millisecond, Loss: 0.05,
		For: 10 * time.Second})},
	{name: "narrow", faults: struck(testnet.Perturbation{Action: testnet.Slow, Rate: 20_000, For: 8 * time.Second})},
}

// Programs are replaced.
var upgradeCells = []cell{
	{name: "upgrade", long: true, faults: func(c *chaos) []testnet.Perturbation {
		return []testnet.Perturbation{{
			Node: c.struck[0], Action: testnet.Upgrade, Binary: release(c.T, app.Version+1), Wrong: release(c.T, app.Version+2),
			Heights: 150, For: time.Second,
		}}
	}},
}

// struck does something to f nodes, at moments of the first second.
func struck(x testnet.Perturbation) func(c *chaos) []testnet.Perturbation {
	return func(c *chaos) []testnet.Perturbation { return c.each(c.struck, x) }
}

// majority does something to f+1 nodes: the others are too few to go on.
func majority(x testnet.Perturbation) func(c *chaos) []testnet.Perturbation {
	return func(c *chaos) []testnet.Perturbation { return c.each(c.rng.Perm(c.n)[:c.f+1], x) }
}

// everybody does something to all nodes at once.
func everybody(x testnet.Perturbation) func(c *chaos) []testnet.Perturbation {
	return func(c *chaos) (all []testnet.Perturbation) {
		for x.Node = range c.n {
			all = append(all, x)
		}
		return all
	}
}

// inTurn does something to one node after the other.
func inTurn(x testnet.Perturbation, every time.Duration) func(c *chaos) []testnet.Perturbation {
	return func(c *chaos) (all []testnet.Perturbation) {
		for _, x.Node = range c.rng.Perm(c.n) {
			all = append(all, x)
			x.After += every
		}
		return all
	}
}

// halves parts the net in two that cannot go on, n times.
func halves(long time.Duration, times int) func(c *chaos) []testnet.Perturbation {
	return func(c *chaos) (all []testnet.Perturbation) {
		who := c.rng.Perm(c.n)
		for k := range times {
			for _, i := range who[:c.n/2] {
				all = append(all, testnet.Perturbation{
					Action: testnet.Disconnect, Node: i, Peers: who[c.n/2:], For: long, After: time.Duration(2*k) * long,
				})
			}
		}
		return all
	}
}

func (c *chaos) each(nodes []int, x testnet.Perturbation) (all []testnet.Perturbation) {
	for _, x.Node = range nodes {
		x.After = time.Duration(c.rng.Int64N(int64(time.Second)))
		all = append(all, x)
	}
	return all
}
