package virtual

import (
	"slices"
	"time"
)

// Shrink drops events of a failing history, and then halves times, as long as the history still
// fails. It calls fails at most budget times.
func Shrink(h History, fails func(History) bool, budget int) History {
	try := func(events []Event) bool {
		smaller := History{Seed: h.Seed, Nodes: h.Nodes, Plain: h.Plain, Events: events}
		if budget <= 0 || smaller.Check() != nil {
			return false
		}
		budget--
		if !fails(smaller) {
			return false
		}
		h = smaller
		return true
	}
	for size := max(1, len(h.Events)/2); size >= 1; size /= 2 {
		for from := 0; from < len(h.Events); {
			if !try(slices.Delete(slices.Clone(h.Events), from, min(from+size, len(h.Events)))) {
				from += size
			}
		}
	}
	for i := range h.Events {
		for _, d := range []func(e *Event) *time.Duration{
			func(e *Event) *time.Duration { return &e.For }, func(e *Event) *time.Duration { return &e.At },
		} {
			for *d(&h.Events[i]) > time.Second {
				events := slices.Clone(h.Events)
				*d(&events[i]) /= 2
				if !try(events) {
					break
				}
			}
		}
	}
	return h
}
