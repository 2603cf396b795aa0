package virtual

import "time"

// A Twins scenario (Bano et al., "Twins: BFT Systems Made Robust") is a sequence of partitions of
// four nodes and a second node with the validator key of the first. Each step splits the five nodes
// in two parts.
const (
	twinNodes  = 4
	twinSteps  = 3
	twinStep   = 2 * time.Second
	partitions = 1 << twinNodes // of twinNodes+1 nodes in two parts, one of them perhaps empty
	twinsANet  = 20             // the number of scenarios of one net; a start takes as long as several

	// TwinScenarios is the number of scenarios.
	TwinScenarios = partitions * partitions * partitions
)

// Twins returns a history of n scenarios, which one net plays one after the other. Their numbers
// are first, first+step, and so on. After twinsANet scenarios the chain must have an offence: the
// proof of two conflicting votes.
func Twins(first, step, n int) History {
	h := History{Seed: uint64(first), Nodes: twinNodes, Events: []Event{{Action: Twin}, {Action: Progress}}}
	for k := range n {
		digits := (first + k*step) % TwinScenarios
		for at := range twinSteps {
			h.Events = append(h.Events, parted(time.Duration(at)*twinStep, digits%partitions)...)
			digits /= partitions
		}
		if k == twinsANet-1 {
			h.Events = append(h.Events, Event{At: twinSteps * twinStep, Action: Expect, Bounds: Bounds{Offences: 1}})
		}
		h.Events = append(h.Events, Event{At: twinSteps * twinStep, Action: Progress})
	}
	return h
}

// parted returns the events that cut the nodes in mask off from the other nodes for one step. The
// twin is one of the other nodes.
func parted(at time.Duration, mask int) (cuts []Event) {
	var others []int
	for i := range twinNodes + 1 {
		if mask>>i&1 == 0 {
			others = append(others, i)
		}
	}
	for i := range twinNodes {
		if mask>>i&1 == 1 {
			cuts = append(cuts, Event{At: at, Action: Disconnect, Node: i, Peers: others, For: twinStep})
		}
	}
	return cuts
}
