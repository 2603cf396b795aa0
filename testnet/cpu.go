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

// spending measures the CPU time of rounds. The first round that closes in a run is the baseline,
// so that the start of the nodes is not counted.
type spending struct {
	used    func() ([]time.Duration, time.Duration) // CPU time so far, nil where it is not known
	rounds  int
	nodes   []time.Duration
	workers time.Duration
}

// closed counts a round; its first call only sets the baseline.
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

// each returns the mean CPU seconds per round of each node, and those of the workers of
// participants without a node. It returns nil and 0 if it measured no round.
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

// cpu formats the CPU time of a round as a line, "" if it is unknown.
func (s Summary) cpu() string {
	if s.CPU == nil {
		return ""
	}
	text := fmt.Sprintf("CPU a round: nodes %s s", strings.Trim(fmt.Sprintf("%.3f", s.CPU), "[]"))
	if s.WorkersCPU > 0 {
		text += fmt.Sprintf(", workers without a node %.3f s", s.WorkersCPU)
	}
	return text + "\n"
}
