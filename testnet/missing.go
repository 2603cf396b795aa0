package testnet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Missed is a participant without a gradient in rounds of the run.
type Missed struct {
	Participant uint32 `json:"participant"`
	Rounds      int    `json:"rounds"`
	Late        bool   `json:"late,omitempty"` // it has been late in rounds that waited for it
}

// missing counts the gradients that the rounds of a run lack.
type missing map[uint32]Missed

// count adds a round.
func (m *missing) count(x Round) {
	if *m == nil {
		*m = missing{}
	}
	for _, p := range x.Missing {
		(*m)[p] = Missed{p, (*m)[p].Rounds + 1, (*m)[p].Late || slices.Contains(x.Late, p)}
	}
}

// all returns those that missed a round, those with the most rounds first.
func (m missing) all() []Missed {
	return slices.SortedFunc(maps.Values(m), func(a, b Missed) int {
		return cmp.Or(b.Rounds-a.Rounds, cmp.Compare(a.Participant, b.Participant))
	})
}

// listed formats a list, up to its eighth element.
func listed[T any](all []T, text func(T) string) string {
	const most = 8
	var texts []string
	for _, x := range all[:min(most, len(all))] {
		texts = append(texts, text(x))
	}
	if more := len(all) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// missed formats who missed rounds, "" if nobody, and the remedy if a participant without an attack was late.
func (r *Reporter) missed(s Summary) string {
	if len(s.Missed) == 0 {
		return ""
	}
	late := false
	text := "gradients missing: " + listed(s.Missed, func(x Missed) string {
		why := ""
		if kind := r.Manifest.attack(int(x.Participant)); kind != "" {
			why = " by its attack " + kind
		} else if x.Late {
			why, late = ", as it was late", true
		}
		return fmt.Sprintf("participant %d in %d of %d rounds%s", x.Participant, x.Rounds, s.Rounds, why)
	}) + "\n"
	if late {
		text += "if its training steps are slow: a net made with --patience 30s has rounds that wait so much longer for " +
			"them; spdl trainer check measures a step\n"
	}
	return text
}
