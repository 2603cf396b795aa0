package virtual

import "time"

// A Twins scenario (Bano et al., "Twins: BFT Systems Made Robust") is a sequence of partitions of four
// nodes and a second node with the validator key of the first. Each step parts the five in two.
const (
	twinNodes  = 4
	twinSteps  = 3
	twinStep   = 2 * time.Second
	partitions = 1 << twinNodes // of twinNodes+1 nodes in two parts, one of them perhaps empty

	// TwinScenarios is the number of scenarios.
	TwinScenarios = partitions * partitions * partitions
)

// Twins returns n scenarios, the first one and then each step-th, one after the other on one net.
func Twins(first, step, n int) History {
	h := History{Seed: uint64(first), Nodes: twinNodes, Events: []Event{{Action: Twin}, {Action: Progress}}}
	for k := range n {
		digits := (first + k*step) % TwinScenarios
		for at := range twinSteps {
			h.Events = append(h.Events, parted(time.Duration(at)*twinStep, digits%partitions)...)
			digits /= partitions
		}
		h.Events = append(h.Events, Event{At: twinSteps * twinStep, Action: Progress})
	}
	return h
}

// parted cuts the nodes in the mask off from the others for a step. The twin is among the others.
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
