// Package apptest makes small chains for tests: keys from fixed seeds, a genesis, gradients from an
// integer generator, and whole valid blocks. The bytes are the same on every machine.
package apptest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// ChainID is the id of all test chains.
const ChainID = "spdl-test"

// Key returns the signing key of participant i. Anybody can compute it.
func Key(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "spdl test key %d", i))
	return ed25519.NewKeyFromSeed(seed[:])
}

// VRFKey returns the VRF key of participant i. Anybody can compute it.
func VRFKey(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "spdl test VRF key %d", i))
	return ed25519.NewKeyFromSeed(seed[:])
}

// ConsensusKey returns the public key of participant i's validator.
func ConsensusKey(i int) []byte { return consensusKey(i).Public().(ed25519.PublicKey) }

func consensusKey(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "spdl test consensus key %d", i))
	return ed25519.NewKeyFromSeed(seed[:])
}

// ConsensusProof returns the proof of possession of participant i's consensus key, for the signing
// key of participant owner.
func ConsensusProof(i, owner int) []byte { return ProveConsensusKey(i, Identity(owner).PubKey) }

// ProveConsensusKey returns the proof of possession of participant i's consensus key, for the signing key pub.
func ProveConsensusKey(i int, pub []byte) []byte {
	return app.ProveConsensusKey(ChainID, pub, consensusKey(i))
}

// Identity returns the keys and names that participant i registers.
func Identity(i int) app.Identity {
	return app.Identity{
		PubKey: Key(i).Public().(ed25519.PublicKey), VrfKey: VRFKey(i).Public().(ed25519.PublicKey),
		ConsensusKey: ConsensusKey(i), Moniker: fmt.Sprintf("node%d", i),
	}
}

// Params returns the parameters of a tiny chain of n participants: a softmax of 3 inputs and 2
// classes (d = 8), 50 rounds. The mutations are applied in order.
func Params(n int, mutate ...func(*params.Params)) params.Params {
	p := params.Params{
		Model:    params.Model{Kind: params.ModelSoftmax, Inputs: 3, Classes: 2, Pool: 1, PixelScale: 255},
		Grid:     params.Grid{Width: 1, Step: 1.0 / 64},
		Rule:     params.Rule{Name: "multi-krum", Byzantine: uint32((n - 1) / 3)},
		Training: params.Training{Rounds: 50, LearningRate: 0.5},
		Privacy: params.Privacy{Mechanism: params.MechanismGaussian, Clip: 1, NoiseMultiplier: 1, SamplingRate: 0.5,
			Batch: 8, WorkerMomentum: 0.9},
		Reputation: params.Reputation{Initial: params.One, Penalty: 100_000, Reward: 50_000},
		Election:   params.Election{Term: 1, ViewBlocks: 2, QuorumBlocks: 2},
	}
	for _, m := range mutate {
		m(&p)
	}
	return p
}

// Noisy changes the parameters to those of a larger model with noise: vectors have d = 1970
// coordinates, and the final noise has a standard deviation of 8 grid steps.
func Noisy(p *params.Params) {
	p.Model = params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: 10, Pool: 2, PixelScale: 255}
	p.Privacy = params.Privacy{Mechanism: params.MechanismGaussian, Clip: 1, NoiseMultiplier: 2.67, SamplingRate: 0.1,
		Batch: 1500, WorkerMomentum: 0.9, NoiseFloor: true}
	p.Grid.Step = 5.1e-5
}

// Summed makes vectors the sums of all gradients of their participants.
func Summed(p *params.Params) {
	p.Privacy.WorkerMomentum, p.Privacy.SamplingRate, p.Grid.Width = 1, 1, 2
}

// CommitReveal turns on election.commit_reveal: a round takes commitments before gradients.
func CommitReveal(p *params.Params) { p.Election.CommitReveal = true }

// Budgeted gives each participant a budget for the given number of gradients.
func Budgeted(rounds uint64) func(*params.Params) {
	return func(p *params.Params) {
		p.Privacy.Epsilon, p.Privacy.Delta = 1, 1e-6
		p.Privacy.Cost = make([]uint64, params.LedgerColumns)
		p.Privacy.Budget = make([]uint64, params.LedgerColumns)
		for i := range p.Privacy.Cost {
			p.Privacy.Cost[i] = uint64(1000 * (i + 1))
			p.Privacy.Budget[i] = 5 // at all other orders the budget pays for no gradient
		}
		p.Privacy.Budget[7] = rounds*p.Privacy.Cost[7] + 1
	}
}

// Genesis returns a genesis of n participants with the keys of Key.
func Genesis(n int, p params.Params) app.Genesis {
	seed := sha256.Sum256([]byte("spdl test genesis"))
	g := app.Genesis{Params: p, Seed: seed[:]}
	for i := range n {
		p := app.NewParticipant(uint32(i), Identity(i), p.Reputation)
		p.VrfProof = app.ProveGenesis(ChainID, g.Seed, VRFKey(i))
		g.Participants = append(g.Participants, p)
	}
	return g
}

// State returns the state before height 1.
func State(n int, mutate ...func(*params.Params)) *app.State {
	s, err := app.NewState(ChainID, 1, -1, Genesis(n, Params(n, mutate...)))
	if err != nil {
		panic(err)
	}
	return s
}

// Vector derives a vector of d coordinates on the grid from a seed. It uses the splitmix64
// generator (Steele, Lea and Flood 2014) and only integer arithmetic. The vector is the sum of a
// part that all vectors of the round share and a part that depends on the seed.
func Vector(w gradients.Width, d int, round, seed uint64) gradients.Vector {
	v := gradients.NewVector(w, d)
	common, own := round, round<<20^seed<<40^seed
	bound := uint64(w.Max())
	for i := range d {
		c := int64(splitmix(&common) % (bound + 1))
		v.Set(i, c/2-int64(bound/4)+int64(splitmix(&own)%(bound/2))-int64(bound/4))
	}
	return v
}

func splitmix(s *uint64) uint64 {
	*s += 0x9e3779b97f4a7c15
	z := *s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Gradient returns participant i's signed gradient for the open round of the state.
func Gradient(s *app.State, i int) *tx.Tx {
	v := Vector(s.Grid().Width, len(s.Model), s.Progress.Round, uint64(i))
	return Sign(i, &tx.Gradient{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Participant: uint32(i),
		Payload: v.Encode(), VrfProof: gradientProof(s, i)})
}

// gradientProof returns the VRF proof in participant i's gradient: none with commit_reveal.
func gradientProof(s *app.State, i int) []byte {
	if s.Params.Election.CommitReveal {
		return nil
	}
	return Proof(s, i)
}

// Proof returns participant i's VRF proof for the open round of the state.
func Proof(s *app.State, i int) []byte { return leader.Prove(VRFKey(i), s.VRFInput()) }

// Gradients returns the participants' signed gradients for the open round of the state.
func Gradients(s *app.State, participants ...int) []*tx.Tx {
	var out []*tx.Tx
	for _, i := range participants {
		out = append(out, Gradient(s, i))
	}
	return out
}

// Commit returns participant i's signed commitment to its gradient for the open round of the state.
func Commit(s *app.State, i int) *tx.Tx { return CommitTo(s, i, Gradient(s, i)) }

// CommitTo returns participant i's signed commitment to a gradient for the open round of the state.
func CommitTo(s *app.State, i int, t *tx.Tx) *tx.Tx {
	return Sign(i, &tx.Commit{Epoch: t.Gradient.Epoch, Round: t.Gradient.Round, Participant: uint32(i),
		Hash: t.Content[:], VrfProof: Proof(s, i)})
}

// Commits returns the participants' signed commitments for the open round of the state.
func Commits(s *app.State, participants ...int) []*tx.Tx {
	var out []*tx.Tx
	for _, i := range participants {
		out = append(out, Commit(s, i))
	}
	return out
}

// Indices lists the participants 0 to n-1.
func Indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Sign signs a body with participant i's key.
func Sign(i int, body tx.Body) *tx.Tx {
	t, err := tx.Sign(ChainID, body, Key(i))
	if err != nil {
		panic(err)
	}
	return t
}

// Join returns participant i's request for membership.
func Join(i int) *tx.Tx {
	who := Identity(i)
	return Sign(i, &tx.Join{
		PubKey: who.PubKey, VrfKey: who.VrfKey, VrfProof: app.ProveVRFKey(ChainID, who.PubKey, VRFKey(i)),
		ConsensusKey: who.ConsensusKey, ConsensusProof: ConsensusProof(i, i), Moniker: who.Moniker, Address: who.Address,
	})
}

// Approve returns participant i's approval of the proposal that a transaction made.
func Approve(i int, proposal *tx.Tx) *tx.Tx {
	id := proposal.ID()
	return Sign(i, &tx.Approve{Participant: uint32(i), Proposal: id[:]})
}

// Opens returns the first height at which the leader of the given view may close the open round (A3).
func Opens(s *app.State, view uint64) uint64 {
	if view == 0 {
		return s.Progress.Opened
	}
	e := s.Params.Election
	return s.Progress.Opened + e.QuorumBlocks + view*e.ViewBlocks
}

// Close returns the transactions of a valid block that closes the open round at the given height.
// The leader is the first participant in the ranking that may lead. The aggregate includes the
// gradients of the given participants, or of all active participants if none are given.
func Close(s *app.State, height uint64, participants ...int) []*tx.Tx {
	if participants == nil {
		for i, p := range s.Participants {
			if p.Active {
				participants = append(participants, i)
			}
		}
	}
	pending := Gradients(s, participants...)
	leaders := append([]uint32(nil), s.Progress.Ranking...)
	for i := range s.Participants {
		leaders = append(leaders, uint32(i))
	}
	for _, leader := range leaders {
		a, err := s.DraftAggregate(height, leader, pending)
		if err != nil {
			continue
		}
		txs := s.Assemble(height, append(pending, Sign(int(leader), a)), 0)
		if txs == nil {
			panic("a valid block was not assembled")
		}
		return txs
	}
	panic(fmt.Sprintf("nobody may lead at height %d", height))
}
