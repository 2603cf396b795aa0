package evidence

import (
	"slices"

	"github.com/spdl/spdl/app"
)

// sameMembers reports whether no participant joined, left or replaced a key between two states: a former
// member does not return, and an index is not used again.
func sameMembers(a, b []app.Participant) bool {
	for i := range min(len(a), len(b)) {
		if differs(a[i], b[i]) != nil {
			return false
		}
	}
	return len(a) == len(b)
}

// Snapshot holds the members that the header of a height proves.
type Snapshot struct {
	Height uint64
	All    []app.Participant
}

// Active returns the number of active participants in the state on which the block of a height was
// executed.
func (f *Facts) Active(height uint64) (n int) {
	all := f.Members[0].All
	for _, s := range f.Members {
		if s.Height <= height {
			all = s.All
		}
	}
	for _, p := range all {
		if p.Active {
			n++
		}
	}
	return n
}

// Owner returns the participant that has or had a signing key, according to the proven members.
func (f *Facts) Owner(key []byte) (uint32, bool) {
	for _, s := range append(slices.Clone(f.Members), Snapshot{f.Height, f.State.Participants}) {
		if p := (&app.State{Participants: s.All}).HolderOf(key); p != nil {
			return p.Index, true
		}
	}
	return 0, false
}

// Change is a change of a participant between two states.
type Change struct {
	Participant uint32
	What        string
	Height      uint64 // of the block that changed it
}

// Changes returns all changes of members, in their order.
func (f *Facts) Changes() (out []Change) {
	for i := 1; i < len(f.Members); i++ {
		before, after := f.Members[i-1], f.Members[i]
		for j, p := range after.All {
			if j >= len(before.All) {
				out = append(out, Change{p.Index, "became a member", before.Height})
				continue
			}
			for _, what := range differs(before.All[j], p) {
				out = append(out, Change{p.Index, what, before.Height})
			}
		}
	}
	return out
}

// differs describes the change of a participant between two states.
func differs(a, b app.Participant) (out []string) {
	if a.Active != b.Active {
		out = append(out, "left")
	}
	if string(a.PubKey) != string(b.PubKey) || len(a.FormerKeys) != len(b.FormerKeys) {
		out = append(out, "rotated its signing key")
	}
	if string(a.VrfKey) != string(b.VrfKey) {
		out = append(out, "rotated its VRF key")
	}
	switch {
	case string(a.ConsensusKey) == string(b.ConsensusKey) && len(a.FormerValidators) == len(b.FormerValidators):
	case len(b.ConsensusKey) == 0:
		out = append(out, "lost its validator")
	default:
		out = append(out, "changed the key of its validator")
	}
	return out
}
