package testnet

import (
	"fmt"
	"strings"
	"time"
)

// CPU returns the CPU time that the processes have used so far: each node's, and that of the
// workers of participants without a node.
func (p *Processes) CPU() (nodes []time.Duration, workers time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range p.children {
		used := p.used[i]
		if c != nil && !c.reaped {
			used += cpuOfPID(c.cmd.Process.Pid)
		}
		if i < len(p.Net.Nodes) {
			nodes = append(nodes, used)
		} else {
			workers += used
		}
	}
	return nodes, workers
}

// spending takes what rounds cost in CPU time, from the first that a run closes on: the start of
// the nodes is none of them.
type spending struct {
	used    func() ([]time.Duration, time.Duration) // CPU time so far, nil where it is not known
	rounds  int
	nodes   []time.Duration
	workers time.Duration
}

// closed counts a round.
func (s *spending) closed() {
	if s.used == nil {
		return
	}
	if s.nodes == nil {
		s.nodes, s.workers = s.used()
		return
	}
	s.rounds++
}

// each returns the seconds that a round took each node, and the workers of participants without a
// node; nil and 0 where no round was measured.
func (s *spending) each() (nodes []float64, workers float64) {
	if s.rounds == 0 {
		return nil, 0
	}
	now, all := s.used()
	for i, used := range now {
		nodes = append(nodes, (used-s.nodes[i]).Seconds()/float64(s.rounds))
	}
	return nodes, (all - s.workers).Seconds() / float64(s.rounds)
}

// cpu says what a round took, and nothing where that is not known.
func (s Summary) cpu() string {
	if s.CPU == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("CPU a round: nodes")
	for _, each := range s.CPU {
		fmt.Fprintf(&b, " %.3f", each)
	}
	b.WriteString(" s")
	if s.WorkersCPU > 0 {
		fmt.Fprintf(&b, ", workers without a node %.3f s", s.WorkersCPU)
	}
	return b.String() + "\n"
}
