//go:build virtual

package virtual

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing/synctest"
	"time"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// heapPerNode is the number of bytes by which the heap may grow for each node: blocks in flight,
// caches and tables that fill. The number of goroutines may double.
const heapPerNode = 64 << 20

// invariants checks what must hold at all times, whatever happens to a net.
type invariants struct {
	guilty []int            // the participants that sign conflicting messages
	blocks map[int64]string // the id and application hash of each block, by height
	tallies
	journals   map[int]*node.Running // the run of each node in which its journal was read last
	goroutines int
	heap       uint64
}

// tallies holds the tally of each node's blocks, by node.
type tallies map[int]*tally

// tally counts what the blocks up to a height contain.
type tally struct {
	height   int64
	rounds   int
	views    int // the views that passed without an aggregate
	included map[uint32]uint64
}

func newInvariants(guilty []int) *invariants {
	return &invariants{guilty: guilty, blocks: map[int64]string{}, tallies: tallies{},
		journals: map[int]*node.Running{}}
}

// check returns an error if an invariant does not hold.
func (v *invariants) check(t *Net) error {
	synctest.Wait()
	for i, m := range t.nodes {
		if m.running == nil {
			delete(v.tallies, i) // the node may come back with fewer blocks
			continue
		}
		if err := m.ended(); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		s := t.State(i)
		if s == nil {
			continue
		}
		if err := v.checkBlocks(i, m, s); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		for _, o := range s.Offences {
			if !slices.Contains(v.guilty, int(o.Participant)) {
				return fmt.Errorf("node %d has an offence of honest participant %d: %v", i, o.Participant, o)
			}
		}
		if err := v.checkLedger(i, m, s); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

// ended returns an error if the node has ended although its disk is not full, or if consensus has
// ended and the node has not reported that.
func (m *member) ended() error {
	select {
	case err := <-m.running.Failed():
		if !m.wasFull {
			return err
		}
		m.failed = true
	default:
		if !m.failed && m.consensus.Ended() {
			return errors.New("consensus has ended, and the node goes on")
		}
	}
	return nil
}

// checkBlocks compares a node's new blocks with the blocks of the other nodes, and adds them to the
// node's tally.
func (v *invariants) checkBlocks(i int, m *member, s *app.State) error {
	store, count := m.running.Node.BlockStore(), v.tallies[i]
	if count == nil {
		count = &tally{included: map[uint32]uint64{}}
		v.tallies[i] = count
	}
	for h := count.height + 1; h <= min(store.Height(), int64(s.Height)); h++ {
		b := store.LoadBlock(h)
		if b == nil {
			return fmt.Errorf("no block of height %d", h)
		}
		id := b.Hash().String() + " " + b.AppHash.String()
		if other, ok := v.blocks[h]; ok && other != id {
			return fmt.Errorf("block %s at height %d, another node has %s", id, h, other)
		}
		v.blocks[h], count.height = id, h
		if len(b.Txs) == 0 {
			continue
		}
		first, err := tx.Decode(b.Txs[0])
		if err != nil {
			return fmt.Errorf("height %d: %w", h, err)
		}
		if a := first.Aggregate; a != nil {
			count.rounds++
			count.views += int(a.View)
			for _, in := range a.Included {
				count.included[in.Participant]++
			}
		}
	}
	return nil
}

// checkLedger returns an error if the state counts fewer gradients than the blocks have, or if a
// participant's own journal has fewer gradients than the state counts. A journal only grows while
// its node runs, so checkLedger reads it when the node has started, and at the end.
func (v *invariants) checkLedger(i int, m *member, s *app.State) error {
	for _, p := range s.Participants {
		if in := v.tallies[i].included[p.Index]; p.Participations < in {
			return fmt.Errorf("participant %d has %d participations, and %d gradients are in blocks", p.Index,
				p.Participations, in)
		}
	}
	if !m.app.Worker.Enabled || m.attack != "" || v.journals[i] == m.running {
		return nil
	}
	v.journals[i] = m.running
	j, err := home.ReadJournal(m.config, m.app)
	if err != nil {
		return err
	}
	if counted := s.Participants[i].Participations; j.Signed < counted {
		return fmt.Errorf("the journal has %d gradients, and the state counts %d", j.Signed, counted)
	}
	return nil
}

// bounded returns an error if goroutines or memory have grown beyond their bounds since the first
// call. Goroutines of connections that have ended have a minute to end too.
func (v *invariants) bounded(nodes int) error {
	err := v.boundedHeap(nodes)
	n := runtime.NumGoroutine()
	if v.goroutines == 0 {
		v.goroutines = n
	}
	most := 2 * v.goroutines
	for end := time.Now().Add(time.Minute); n > most && time.Now().Before(end); n = runtime.NumGoroutine() {
		time.Sleep(time.Second)
	}
	if n > most {
		return fmt.Errorf("%d goroutines, want at most %d", n, most)
	}
	return err
}

// boundedHeap checks only the memory, because adversaries run goroutines of their own.
func (v *invariants) boundedHeap(nodes int) error {
	synctest.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if v.heap == 0 {
		v.heap = m.HeapAlloc
	}
	if most := v.heap + uint64(nodes)*heapPerNode; m.HeapAlloc > most {
		return fmt.Errorf("a heap of %d MiB, want at most %d", m.HeapAlloc>>20, most>>20)
	}
	return nil
}
