package app_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// observer follows the elections from the genesis and the raw blocks alone. It keeps keys,
// reputations, seed and ranking of its own, as SPEC.md defines them.
type observer struct {
	t          *testing.T
	params     params.Params
	keys       [][]byte // VRF keys, by participant
	reputation []int64
	left       []bool
	round      uint64
	seed       []byte
	ranking    []uint32
	tied       bool
	approvals  map[string][]uint32 // approvals of restores, by proposal
	restores   map[string]uint32   // subjects of restores, by proposal
}

func observe(t *testing.T, g app.Genesis) *observer {
	o := &observer{t: t, params: g.Params, seed: g.Seed, approvals: map[string][]uint32{}, restores: map[string]uint32{}}
	var contenders []leader.Contender
	for _, p := range g.Participants {
		o.keys, o.reputation, o.left = append(o.keys, p.VrfKey), append(o.reputation, g.Params.Reputation.Initial),
			append(o.left, false)
		contenders = append(contenders, o.contender(p.Index, p.VrfProof))
	}
	o.elect(contenders)
	return o
}

// contender verifies a VRF proof over the observer's own seed.
func (o *observer) contender(index uint32, proof []byte) leader.Contender {
	out, err := leader.Verify(o.keys[index], leader.Input(apptest.ChainID, 0, o.round, o.seed), proof)
	require.NoError(o.t, err)
	return leader.Contender{Participant: index, Output: out}
}

// members returns N and f.
func (o *observer) members() (n, f int) {
	for _, gone := range o.left {
		if !gone {
			n++
		}
	}
	return n, min(int(o.params.Rule.Byzantine), (n-1)/3)
}

// block reads the raw transactions of a block.
func (o *observer) block(raws [][]byte) {
	if len(raws) == 0 {
		return
	}
	var contenders []leader.Contender
	var vectors []gradients.Vector
	var guilty, leaving []uint32
	n, f := o.members()
	for _, raw := range raws {
		x, err := tx.Decode(raw)
		require.NoError(o.t, err)
		switch b := x.Body.(type) {
		case *tx.Gradient:
			contenders = append(contenders, o.contender(b.Participant, b.VrfProof))
			v, err := gradients.Decode(gradients.Width(o.params.Grid.Width), o.params.Model.Dim(), b.Payload)
			require.NoError(o.t, err)
			vectors = append(vectors, v)
		case *tx.Evidence:
			at, err := b.Conflict()
			require.NoError(o.t, err)
			guilty = append(guilty, at.Participant)
		case *tx.Remove:
			require.Equal(o.t, b.Participant, b.Subject)
			leaving = append(leaving, b.Participant)
		case *tx.Restore:
			o.restores[string(id(x))] = b.Subject
			o.approvals[string(id(x))] = []uint32{b.Participant}
		case *tx.Approve:
			o.approvals[string(b.Proposal)] = append(o.approvals[string(b.Proposal)], b.Participant)
		}
	}
	rule, err := rules.Lookup(o.params.Rule.Name)
	require.NoError(o.t, err)
	out, err := rule.Aggregate(rules.Input{N: n, F: f, Vectors: vectors})
	require.NoError(o.t, err)
	for i, d := range contenders {
		r := &o.reputation[d.Participant]
		switch {
		case *r == 0:
		case out.Delta.Dot(vectors[i]).Sign() < 0:
			*r = max(0, *r-o.params.Reputation.Penalty)
		default:
			*r = min(params.One, *r+o.params.Reputation.Reward)
		}
	}
	for _, index := range guilty {
		o.reputation[index] = 0
	}
	for id, by := range o.approvals {
		if 3*len(by) > 2*n {
			o.reputation[o.restores[id]] = o.params.Reputation.Initial
			delete(o.approvals, id)
		}
	}
	for _, index := range leaving {
		o.left[index] = true
	}
	o.round++
	o.elect(contenders)
}

// elect applies O6.
func (o *observer) elect(contenders []leader.Contender) {
	contenders = slices.DeleteFunc(slices.Clone(contenders), func(d leader.Contender) bool {
		return o.left[d.Participant] || o.reputation[d.Participant] == 0
	})
	o.seed = leader.NextSeed(o.seed, contenders)
	if o.tied || o.round%o.params.Election.Term == 0 {
		if ranking, tie := leader.Rank(contenders); tie {
			o.tied = true
		} else {
			o.ranking, o.tied = ranking, false
		}
	}
	o.ranking = slices.DeleteFunc(slices.Clone(o.ranking), func(i uint32) bool { return o.left[i] })
}

// TestObserver: a reader of the blocks knows seed, ranking and reputations of every height over 200
// rounds. These have silent participants, one that opposes Delta until its reputation is 0, an
// equivocator that is restored, and a departure.
func TestObserver(t *testing.T) {
	for _, term := range []uint64{1, 3} {
		t.Run(fmt.Sprintf("term %d", term), func(t *testing.T) {
			const n = 5
			g := apptest.Genesis(n, apptest.Params(n, mean, func(p *params.Params) {
				p.Election.Term, p.Training.Rounds = term,
					200
			}))
			s, err := app.NewState(apptest.ChainID, 1, -1, g)
			require.NoError(t, err)
			o := observe(t, g)
			led, zeros, shrunk := map[uint32]int{}, 0, 0
			for !s.Finished() {
				round := s.Progress.Round
				var pending []*tx.Tx
				for _, i := range active(s) {
					if round%3 == 1 && uint64(i) == round/3%n {
						continue // silent
					}
					x := apptest.Gradient(s, int(i))
					if i == 4 && round >= 40 {
						b := *x.Gradient
						v := apptest.Vector(s.Grid().Width, len(s.Model), round, uint64(i))
						for j := range v.Len() {
							v.Set(j, -v.At(j)/4)
						}
						b.Payload = v.Encode()
						x = apptest.Sign(4, &b)
					}
					pending = append(pending, x)
				}
				var others []*tx.Tx
				switch round {
				case 20:
					others = []*tx.Tx{equivocation(1, 0, 19)}
				case 100:
					others = approved(restore(0, 1), 2, 3, 4)
				case 150:
					others = []*tx.Tx{leave(0)}
				case 170:
					others = []*tx.Tx{equivocation(3, 0, 170)}
				}
				var txs []*tx.Tx
				for txs == nil {
					if txs = (ring{}).lead(s, s.Height+1, pending); txs != nil {
						txs = append(txs, others...)
					}
					out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
					require.NoError(t, err)
					s = out.State
					raws := make([][]byte, len(txs))
					for i, x := range txs {
						raws[i] = x.Raw
					}
					o.block(raws)
					require.Equal(t, o.seed, s.Progress.Seed, "height %d", s.Height)
					require.Equal(t, o.ranking, s.Progress.Ranking, "height %d", s.Height)
					if out.Record != nil {
						led[out.Record.Leader]++
						require.True(t, out.Record.View > 0 || out.Record.Leader == out.Record.Ranking[0])
					}
				}
				for i, p := range s.Participants {
					require.Equal(t, o.reputation[i], p.Reputation, "height %d", s.Height)
					if p.Reputation == 0 {
						zeros++
					}
				}
				if len(s.Progress.Ranking) < s.Active() {
					shrunk++
				}
			}
			t.Logf("led %v; %d heights; reputations of zero %d, rankings without somebody %d", led, s.Height, zeros, shrunk)
			require.Equal(t, uint64(200), o.round)
			require.Greater(t, zeros, 200)
			require.Greater(t, shrunk, 100)
			require.Zero(t, s.Participants[4].Reputation)
			require.NotZero(t, s.Participants[1].Reputation)
			for i := range uint32(n) {
				require.NotZero(t, led[i])
			}
		})
	}
}

// TestTie: "with a tie for the lead it stays, and the next round's contenders decide." Participants
// with the same VRF key tie; neither a genesis nor a rotation allows that.
func TestTie(t *testing.T) {
	s := round(t, apptest.State(4)).State
	ranking, seed := s.Progress.Ranking, s.Progress.Seed
	own := make([][]byte, 4)
	r := ring{vrf: map[uint32]int{0: 0, 1: 0, 2: 0, 3: 0}}
	for i := range s.Participants {
		own[i] = s.Participants[i].VrfKey
		s.Participants[i].VrfKey = own[0]
	}
	for range 3 {
		out := r.round(t, s)
		var contenders []leader.Contender
		for _, c := range out.Record.Contributions {
			require.Equal(t, out.Record.Contributions[0].VrfOutput, c.VrfOutput)
			contenders = append(contenders, leader.Contender{Participant: c.Participant, Output: leader.Output(c.VrfOutput)})
		}
		s = out.State
		require.Equal(t, ranking, s.Progress.Ranking)
		require.Equal(t, leader.NextSeed(seed, contenders), s.Progress.Seed, "the next contenders are over another seed")
		seed = s.Progress.Seed
	}
	// A tie further down does not count: the lowest contenders share a key.
	for i := range s.Participants {
		s.Participants[i].VrfKey = own[i]
	}
	out := round(t, s)
	require.NotEqual(t, seed, out.State.Progress.Seed)
	contenders := map[uint32][]byte{}
	for _, c := range out.Record.Contributions {
		contenders[c.Participant] = c.VrfOutput
	}
	next := out.State.Progress.Ranking
	require.Len(t, next, 4)
	for i := range next[1:] {
		require.Positive(t, bytes.Compare(contenders[next[i]], contenders[next[i+1]]), "by decreasing VRF output")
	}
}

// TestTieWithinATerm: after a tie the next round's contenders decide, whatever the term, and later
// rounds do not decide again.
func TestTieWithinATerm(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Election.Term = 3 })
	s = round(t, round(t, s).State).State
	ranking := s.Progress.Ranking
	own := make([][]byte, 4)
	for i := range s.Participants {
		own[i], s.Participants[i].VrfKey = s.Participants[i].VrfKey, s.Participants[0].VrfKey
	}
	require.False(t, s.Progress.Tied)
	s = ring{vrf: map[uint32]int{1: 0, 2: 0, 3: 0}}.round(t, s).State
	require.True(t, s.Progress.Tied)
	require.Equal(t, ranking, s.Progress.Ranking)
	for i := range s.Participants {
		s.Participants[i].VrfKey = own[i]
	}
	for r := range 3 { // rounds 3, 4 and 5: the first one decides, the last one ends a term
		out := round(t, s)
		var contenders []leader.Contender
		for _, c := range out.Record.Contributions {
			contenders = append(contenders, leader.Contender{Participant: c.Participant, Output: leader.Output(c.VrfOutput)})
		}
		want, tie := leader.Rank(contenders)
		require.False(t, tie)
		if r == 1 {
			want = s.Progress.Ranking
		}
		s = out.State
		require.Equal(t, want, s.Progress.Ranking)
		require.False(t, s.Progress.Tied)
	}
}

// TestRankingOfTheIncluded: "Contenders are the included participants": a silent participant is not
// ranked, and if no included participant has a reputation, every participant may lead.
func TestRankingOfTheIncluded(t *testing.T) {
	s := apptest.State(4)
	for range 2 {
		s = step(t, s).State
	}
	out := step(t, s, ring{}.closes(s, 3, 0, 1, 3)...)
	require.Len(t, out.State.Progress.Ranking, 3)
	require.NotContains(t, out.State.Progress.Ranking, uint32(2))
	s = round(t, out.State).State
	require.Contains(t, s.Progress.Ranking, uint32(2))

	// All but one equivocate, so only that one is ranked. When it equivocates too, every
	// participant may lead.
	for i := range uint32(3) {
		s = step(t, s, equivocation(i, 0, 0)).State
	}
	s = round(t, s).State
	require.Equal(t, []uint32{3}, s.Progress.Ranking)
	require.EqualValues(t, 3, round(t, s).Record.Leader)
	// The ranked participant may be silent: after its view and the open view every participant may
	// lead.
	three := apptest.Gradients(s, 0, 1, 2)
	for i := range uint32(3) {
		opens := apptest.Opens(s, 2)
		_, err := s.DraftAggregate(opens-1, i, three)
		require.ErrorIs(t, err, app.ErrNotLeader)
		a, err := s.DraftAggregate(opens, i, three)
		require.NoError(t, err)
		require.EqualValues(t, 2, a.View)
		out, err := applyAt(s, opens, s.Assemble(opens, append(slices.Clone(three), apptest.Sign(int(i), a)), 0))
		require.NoError(t, err)
		require.Empty(t, out.State.Progress.Ranking, "nobody who drew has a reputation")
	}
	s = round(t, s, equivocation(3, 0, 0)).State
	require.Empty(t, s.Progress.Ranking)
	seed := s.Progress.Seed
	for i := range uint32(4) {
		a, err := s.DraftAggregate(s.Height+1, i, apptest.Gradients(s, 0, 1, 2, 3))
		require.NoError(t, err)
		require.Zero(t, a.View)
	}
	s = round(t, s).State
	require.Equal(t, leader.NextSeed(seed, nil), s.Progress.Seed, "the seed moves on without a contender")
	// A restore by approval is the way out.
	s = round(t, s, approved(restore(0, 1), 2, 3)...).State
	require.Equal(t, []uint32{1}, s.Progress.Ranking)
	require.EqualValues(t, 1, round(t, s).Record.Leader)
}
