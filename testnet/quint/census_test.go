package quint

import (
	"slices"
	"sync"
)

// census counts what traces reach, so that a generator that does not reach it is noticed.
type census struct {
	sync.Mutex
	reached map[string]int
}

// events are what a step of the chain can be.
var events = map[string]func(before state, now step) bool{
	"invalid blocks": func(_ state, now step) bool { return !now.Ok },
	"rounds":         func(before state, now step) bool { return now.State.Closed > before.Closed },
	"later views":    func(_ state, now step) bool { return now.closes() && now.Block.View > 0 },
	"rounds by anybody": func(before state, now step) bool {
		return now.closes() && int(now.Block.View) > len(before.Ranking)
	},
	"phases":           func(before state, now step) bool { return now.State.Revealing && !before.Revealing },
	"epochs":           func(before state, now step) bool { return now.State.Epoch > before.Epoch },
	"offences":         func(before state, now step) bool { return len(now.State.Offences) > len(before.Offences) },
	"upgrades planned": func(before state, now step) bool { return len(now.State.Upgrades) > len(before.Upgrades) },
	"upgrades' heights": func(before state, now step) bool {
		n := len(before.Upgrades)
		return !now.Ok && n > 0 && before.Upgrades[n-1].Height == before.Height+1
	},
	"carried Joins": func(_ state, now step) bool {
		return now.Ok && slices.ContainsFunc(now.Block.Ops, func(op operation) bool { return op.Kind == "carry" })
	},
	"withdrawals": func(_ state, now step) bool { return now.Ok && now.withdraws() },
	"withdrawn proposals": func(before state, now step) bool {
		return now.Ok && now.withdraws() && len(now.State.Proposals) < len(before.Proposals)
	},
	"votes before a revocation": func(before state, now step) bool {
		return !now.Ok && slices.ContainsFunc(now.Block.Ops, func(op operation) bool {
			return op.By >= 0 && op.By < len(before.Participants) && op.Revocations < before.Participants[op.By].Revocations &&
				(op.Kind == "approve" || op.Kind == "withdraw" || op.Kind == "carry")
		})
	},
	"rounds with operations": func(_ state, now step) bool { return now.closes() && len(now.Block.Ops) > 0 },
	"joins": func(before state, now step) bool {
		return len(now.State.Participants) > len(before.Participants)
	},
	"ties": func(_ state, now step) bool { return now.State.Tied },
	"late commitments": func(_ state, now step) bool {
		return now.Ok && slices.ContainsFunc(now.State.Commitments, func(c commitment) bool { return c.Draw == none })
	},
	"vain Presents": func(before state, now step) bool {
		return now.Ok && slices.ContainsFunc(now.Block.Ops, func(op operation) bool {
			if op.Kind != "present" || op.Epoch != now.State.Epoch {
				return false
			}
			p, next := now.State.Participants[op.By], now.State.Closed+1
			return p.Rests > next && next < p.Presented+1<<p.Strikes
		})
	},
}

// changes are what a step can do to a participant.
var changes = map[string]func(before, after participant) bool{
	"removals":  func(before, after participant) bool { return before.Active && !after.Active },
	"rotations": func(before, after participant) bool { return before.Key != after.Key },
	"validators taken": func(before, after participant) bool {
		return after.Active && before.Validator != none && after.Validator == none
	},
	"restored": func(before, after participant) bool { return before.SettledHeight < after.SettledHeight },
	"faults":   func(before, after participant) bool { return before.PassedOver < after.PassedOver },
	"second faults": func(before, after participant) bool {
		return before.PassedOver > 0 && before.PassedOver < after.PassedOver
	},
	"strikes":        func(before, after participant) bool { return before.Strikes < after.Strikes },
	"second strikes": func(before, after participant) bool { return before.Strikes > 0 && before.Strikes < after.Strikes },
	"strikes beyond the last": func(before, after participant) bool {
		return before.Strikes == 10 && before.Rests < after.Rests
	},
	"Presents": func(before, after participant) bool { return before.Presented < after.Presented },
	"second Presents": func(before, after participant) bool {
		return before.Presented > 0 && before.Presented < after.Presented
	},
}

func (s step) withdraws() bool {
	return slices.ContainsFunc(s.Block.Ops, func(op operation) bool { return op.Kind == "withdraw" })
}

func (s step) closes() bool { return s.Ok && s.Block.Leader != none }

func newCensus() *census {
	c := &census{reached: map[string]int{}}
	for name := range events {
		c.reached[name] = 0
	}
	for name := range changes {
		c.reached[name] = 0
	}
	return c
}

// count counts a step after the state before it.
func (c *census) count(before state, now step) {
	c.Lock()
	defer c.Unlock()
	for name, is := range events {
		if is(before, now) {
			c.reached[name]++
		}
	}
	for i, p := range before.Participants {
		for name, is := range changes {
			if is(p, now.State.Participants[i]) {
				c.reached[name]++
			}
		}
	}
}
