package quint

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

const (
	none    = -1
	forged  = -2 // a VRF proof that does not hold
	order   = 7  // the ledger's order at which a budget pays for gradients
	payment = 8000
)

// paramsOf returns the parameters of an epoch of the model.
func paramsOf(c config) params.Params {
	return apptest.Params(4, func(p *params.Params) {
		p.Rule = params.Rule{Name: "median", Byzantine: c.Byzantine}
		p.Training.Rounds = c.Rounds
		p.Election = params.Election{Term: c.Term, ViewBlocks: 2, QuorumBlocks: 2, CommitReveal: c.Reveal}
		p.Reputation = params.Reputation{Initial: 500_000, Penalty: 200_000, Reward: 50_000, PassedOver: 150_000,
			Unseat: c.Unseat}
		if c.Budget != none {
			apptest.Budgeted(uint64(c.Budget))(p)
		}
	})
}

// outputs are proofs of VRF outputs, the largest output first.
var outputs = sync.OnceValue(func() [][]byte {
	proofs := make([][]byte, 16)
	for i := range proofs {
		proofs[i] = leader.Prove(apptest.VRFKey(0), []byte{byte(i)})
	}
	slices.SortFunc(proofs, func(a, b []byte) int { return bytes.Compare(output(b), output(a)) })
	return proofs
})

func output(proof []byte) []byte {
	out, ok := leader.OutputOf(proof)
	if !ok {
		panic("not a proof")
	}
	return out[:]
}

// proof returns the proof of an output of the model.
func proof(draw int) []byte {
	switch draw {
	case none:
		return nil
	case forged:
		return outputs()[0]
	}
	return outputs()[draw]
}

// draw returns the number of a VRF output, none for no output.
func draw(out []byte) int {
	return slices.IndexFunc(outputs(), func(proof []byte) bool { return bytes.Equal(output(proof), out) })
}

func public(key ed25519.PrivateKey) []byte { return key.Public().(ed25519.PublicKey) }

// founding maps each ranking of four founders to a genesis seed that leads to it.
var founding = sync.OnceValue(func() map[string][]byte {
	seeds := map[string][]byte{}
	p := paramsOf(config{Rounds: 1, Term: 1, Byzantine: 1, Budget: none})
	for i := 0; len(seeds) < 24; i++ {
		seed := sha256.Sum256(fmt.Appendf(nil, "genesis %d", i))
		s, err := app.NewState(apptest.ChainID, 1, -1, genesis(p, seed[:]))
		if err != nil {
			panic(err)
		}
		seeds[fmt.Sprint(s.Progress.Ranking)] = seed[:]
	}
	return seeds
})

func genesis(p params.Params, seed []byte) app.Genesis {
	g := app.Genesis{Params: p, Seed: seed}
	for i := range 4 {
		who := app.NewParticipant(uint32(i), apptest.Identity(100*i), p.Reputation)
		who.VrfProof = app.ProveGenesis(apptest.ChainID, seed, apptest.VRFKey(100*i))
		g.Participants = append(g.Participants, who)
	}
	return g
}

// chain is the application beside the model.
type chain struct {
	app    *app.State
	trace  *trace
	at     int            // the step that is played
	ids    map[int][]byte // the transactions' ids of the model's proposals
	serial map[string]int
	keys   *keyring
}

// keyring knows the numbers of keys.
type keyring struct{ signing, vrf, validator map[string]int }

func newKeyring() *keyring {
	k := &keyring{signing: map[string]int{}, vrf: map[string]int{}, validator: map[string]int{}}
	for i := range 7 {
		for g := range 7 {
			n := 100*i + g
			k.signing[string(public(apptest.Key(n)))] = n
			k.vrf[string(public(apptest.VRFKey(n)))] = n
			k.validator[string(apptest.ConsensusKey(n))] = n
		}
	}
	return k
}

func newChain(t *trace, k *keyring) (*chain, error) {
	first := t.States[0].State
	s, err := app.NewState(apptest.ChainID, 1, -1, genesis(paramsOf(first.Config), founding()[fmt.Sprint(first.Ranking)]))
	if err != nil {
		return nil, err
	}
	for i, p := range first.Participants { // strikes and faults of rounds before the trace
		s.Participants[i].Strikes, s.Participants[i].PassedOver = p.Strikes, p.PassedOver
	}
	return &chain{app: s, trace: t, ids: map[int][]byte{}, serial: map[string]int{}, keys: k}, nil
}

// state returns the application's state in the words of the model. The parameters are the model's.
func (c *chain) state(model state) state {
	s := c.app
	p := s.Progress
	out := state{Height: s.Height, Closed: s.Closed(), Epoch: p.Epoch, Round: p.Round, Opened: p.Opened, Began: p.Began,
		Revealing: p.Revealing, Commitments: []commitment{}, Ranking: append([]uint32{}, p.Ranking...), Tied: p.Tied,
		Participants: []participant{}, Proposals: []proposal{}, Offences: []offence{}, Epochs: []epoch{},
		Upgrades: []upgrade{}, Config: model.Config, Serial: model.Serial}
	for _, c := range p.Commitments {
		out.Commitments = append(out.Commitments, commitment{c.Participant, c.Height, draw(c.VrfOutput)})
	}
	for _, p := range s.Participants {
		out.Participants = append(out.Participants, c.participant(p))
	}
	for _, p := range s.Proposals {
		id, ok := c.serial[string(p.Id)]
		if !ok {
			id = none
		}
		out.Proposals = append(out.Proposals,
			proposal{ID: id, Approvals: append([]uint32{}, p.Approvals...), Accepted: p.Accepted})
	}
	for _, o := range s.Offences {
		out.Offences = append(out.Offences, offence{Participant: o.Participant, Height: o.Height, Misbehavior: o.Misbehavior,
			Voted: o.Voted, Place: place{o.Kind, o.Epoch, o.Round, o.View}})
	}
	for _, e := range s.Epochs {
		out.Epochs = append(out.Epochs, epoch{e.Rounds, e.Opened, e.Closed})
	}
	for _, u := range p.Upgrades {
		out.Upgrades = append(out.Upgrades, upgrade{u.Name, u.Height, u.Version})
	}
	return out
}

func (c *chain) participant(p app.Participant) participant {
	out := participant{Active: p.Active, Reputation: p.Reputation, Strikes: p.Strikes, Rests: p.Rests,
		Presented: p.Presented, PassedOver: p.PassedOver, Contends: p.Contends, Participations: p.Participations,
		Releases: p.Releases,
		Joined:   p.Joined, Nonce: p.Nonce, Revocations: p.Revocations,
		Key: number(c.keys.signing, p.PubKey), Vrf: number(c.keys.vrf, p.VrfKey),
		Validator: number(c.keys.validator, p.ConsensusKey), FormerKeys: []formerKey{},
		FormerValidators: []formerValidator{},
		SettledEpoch:     p.SettledEpoch, SettledRound: p.SettledRound, SettledHeight: p.SettledHeight}
	if len(p.Spent) > 0 {
		out.Spent = int(p.Spent[order] / payment)
	}
	for _, k := range p.FormerKeys {
		out.FormerKeys = append(out.FormerKeys, formerKey{number(c.keys.signing, k.PubKey), k.Epoch, k.Round})
	}
	for _, v := range p.FormerValidators {
		out.FormerValidators = append(out.FormerValidators,
			formerValidator{number(c.keys.validator, v.ConsensusKey), v.Height})
	}
	return out
}

// number returns the number of a key, none for no key or a key that the model does not know.
func number(keys map[string]int, key []byte) int {
	if n, ok := keys[string(key)]; ok {
		return n
	}
	return none
}

func sign(key int, body tx.Body) *tx.Tx {
	t, err := tx.Sign(apptest.ChainID, body, apptest.Key(key))
	if err != nil {
		panic(err)
	}
	return t
}

// payload returns an honest gradient, or an attacker's that opposes it.
func (c *chain) payload(attack bool) []byte {
	v := gradients.NewVector(c.app.Grid().Width, len(c.app.Model))
	for i := range c.app.Model {
		if v.Set(i, 50); attack {
			v.Set(i, -50)
		}
	}
	return v.Encode()
}

// gradient returns a participant's gradient for the open round, with the VRF output and the
// observations that a block gives it.
func (c *chain) gradient(b block, i int) *tx.Tx {
	g := &tx.Gradient{Epoch: c.app.Progress.Epoch, Round: c.app.Progress.Round, Participant: uint32(i),
		Payload: c.payload(b.Attackers.has(i))}
	number := 0
	if at := slices.Index(b.Included, i); at >= 0 {
		number, g.Late, g.Failed = b.Draws[at], b.Late[at], b.Failed[at]
	}
	g.VrfProof = proof(number)
	return c.vouch(sign(c.keyOf(i), g), i, number)
}

// vouch lets the VRF output of a gradient or a commitment count as the participant's, by the VRF key of
// the model, unless the proof is forged.
func (c *chain) vouch(t *tx.Tx, i, number int) *tx.Tx {
	if vrfs := c.trace.States[c.at].Block.Vrfs; i < len(vrfs) && number != forged {
		t.Vouch(public(apptest.VRFKey(vrfs[i])), c.app.VRFInput())
	}
	return t
}

// before is the model's state before the block.
func (c *chain) before() state { return c.trace.States[c.at-1].State }

// keyOf returns the signing key of a participant in the model, or a stranger's.
func (c *chain) keyOf(i int) int {
	if keys := c.trace.States[c.at].Block.Keys; i < len(keys) {
		return keys[i]
	}
	return 100 * i
}

// revealed returns the gradient by which a participant keeps its commitment: that of the next valid
// block that closes the round. Without one it returns any.
func (c *chain) revealed(i int) *tx.Tx {
	open := c.trace.States[c.at].State
	for _, next := range c.trace.States[c.at+1:] {
		if next.Ok && next.Block.Leader != none {
			if next.State.Closed == open.Closed+1 && slices.Contains(next.Block.Included, i) {
				return c.gradient(next.Block, i)
			}
			break
		}
	}
	return c.gradient(block{}, i)
}

// round returns the transactions of the block's round: an aggregate and its gradients.
func (c *chain) round(b block) []*tx.Tx {
	included := slices.Clone(b.Included)
	switch b.Fault {
	case "twice":
		included = append(included[:1:1], included...)
	case "stranger":
		included = append(included, 99)
	}
	a := &tx.Aggregate{Epoch: c.app.Progress.Epoch, Round: c.app.Progress.Round, Leader: uint32(b.Leader), View: b.View}
	var listed []*tx.Tx
	for _, i := range included {
		t := c.gradient(b, i)
		listed = append(listed, t)
		a.Included = append(a.Included, tx.Included{Participant: uint32(i), Hash: t.Content[:]})
	}
	if err := c.app.SetDelta(a, listed); err != nil {
		a.Digest = make([]byte, sha256.Size) // the rule cannot aggregate these
	}
	return c.spoil(b, a, listed)
}

// spoil returns the round with the fault of a block's leader, and without one the round.
func (c *chain) spoil(b block, a *tx.Aggregate, listed []*tx.Tx) []*tx.Tx {
	key := c.keyOf(b.Leader)
	switch b.Fault {
	case "digest":
		a.Digest[0] ^= 1
	case "round":
		a.Round++
	case "signer":
		key = c.wrongKey(b.Leader)
	case "gradient":
		i := b.Included[0]
		listed[0] = c.vouch(sign(c.wrongKey(i), listed[0].Gradient), i, b.Draws[0])
	case "missing":
		listed = listed[:len(listed)-1]
	}
	return append([]*tx.Tx{sign(key, a)}, listed...)
}

// wrongKey returns a former key of a participant, or another that is not its key.
func (c *chain) wrongKey(i int) int {
	if participants := c.before().Participants; i < len(participants) && len(participants[i].FormerKeys) > 0 {
		return participants[i].FormerKeys[0].Key
	}
	return c.keyOf(i) + 6
}

// txs returns the transactions of a block of the model.
func (c *chain) txs(b block) []*tx.Tx {
	var out []*tx.Tx
	if b.Leader != none {
		out = c.round(b)
	}
	for k, i := range b.Commits {
		hash := c.revealed(i).Content
		t := sign(c.keyOf(i), &tx.Commit{Epoch: c.app.Progress.Epoch, Round: c.app.Progress.Round,
			Participant: uint32(i), Hash: hash[:], VrfProof: proof(b.Draws[k])})
		out = append(out, c.vouch(t, i, b.Draws[k]))
	}
	for _, op := range b.Ops {
		out = append(out, c.operation(op))
	}
	return out
}

func (c *chain) operation(op operation) *tx.Tx {
	by, subject := uint32(op.By), uint32(op.Subject)
	switch op.Kind {
	case "join":
		return c.join(op, op.Signer)
	case "carry":
		join := c.join(op, op.Key)
		id := join.ID()
		return sign(op.Signer, &tx.Approve{Participant: by, Proposal: id[:], Join: join.Raw,
			Revocations: op.Revocations})
	case "approve":
		return sign(op.Signer, &tx.Approve{Participant: by, Proposal: c.ids[op.Target], Revocations: op.Revocations})
	case "withdraw":
		return sign(op.Signer, &tx.Withdraw{Participant: by, Proposal: c.ids[op.Target], Revocations: op.Revocations})
	case "rotate":
		return c.rotate(op)
	case "remove":
		return sign(op.Signer, &tx.Remove{Participant: by, Subject: subject, Nonce: op.Nonce})
	case "restore":
		return sign(op.Signer, &tx.Restore{Participant: by, Subject: subject, Nonce: op.Nonce})
	case "epoch":
		return sign(op.Signer, app.NewStartEpoch(by, op.Nonce, op.Epoch, paramsOf(op.Config), false, op.Now))
	case "upgrade":
		return sign(op.Signer, &tx.Upgrade{Participant: by, Nonce: op.Nonce, Name: op.Name, Height: op.Height,
			Version: op.Version})
	case "evidence":
		return c.evidence(op)
	case "present":
		return sign(op.Signer, &tx.Present{Participant: by, Epoch: op.Epoch, Round: op.Round, Nonce: op.Nonce})
	}
	panic("the model has an operation of another kind: " + op.Kind)
}

// join returns the Join of an operation's keys, signed by a key.
func (c *chain) join(op operation, signer int) *tx.Tx {
	pub := public(apptest.Key(op.Key))
	j := &tx.Join{PubKey: pub, VrfKey: public(apptest.VRFKey(op.Vrf)), Moniker: "joiner",
		VrfProof: app.ProveVRFKey(apptest.ChainID, pub, apptest.VRFKey(op.Vrf))}
	if op.Validator != none {
		j.ConsensusKey, j.ConsensusProof = apptest.ConsensusKey(op.Validator), apptest.ProveConsensusKey(op.Validator, pub)
	}
	return sign(signer, j)
}

func (c *chain) rotate(op operation) *tx.Tx {
	r := &tx.Rotate{Participant: uint32(op.By), Nonce: op.Nonce}
	pub := public(apptest.Key(c.keyOf(op.By)))
	if op.Key != none {
		pub = public(apptest.Key(op.Key))
		r.PubKey, r.PubKeyProof = pub, app.ProveRotation(apptest.ChainID, r.Participant, apptest.Key(op.Key))
	}
	if op.Vrf != none {
		r.VrfKey = public(apptest.VRFKey(op.Vrf))
		r.VrfProof = app.ProveVRFKey(apptest.ChainID, pub, apptest.VRFKey(op.Vrf))
	}
	if op.Validator != none {
		r.ConsensusKey, r.ConsensusProof = apptest.ConsensusKey(op.Validator), apptest.ProveConsensusKey(op.Validator, pub)
	}
	return sign(op.Signer, r)
}

// evidence returns the proof of two statements of the subject for one place.
func (c *chain) evidence(op operation) *tx.Tx {
	at, subject := op.Place, uint32(op.Subject)
	statement := func(content byte) *tx.Tx {
		hash := bytes.Repeat([]byte{content}, sha256.Size)
		switch tx.Kind(at.Kind) {
		case tx.KindGradient:
			return sign(op.Signer, &tx.Gradient{Epoch: at.Epoch, Round: at.Round, Participant: subject,
				Payload: c.payload(content == 1), VrfProof: outputs()[0]})
		case tx.KindAggregate:
			return sign(op.Signer, &tx.Aggregate{Epoch: at.Epoch, Round: at.Round, Leader: subject, View: at.View,
				Digest: hash})
		default:
			return sign(op.Signer, &tx.Commit{Epoch: at.Epoch, Round: at.Round, Participant: subject, Hash: hash})
		}
	}
	t, err := tx.NewEvidence(statement(1), statement(2))
	if err != nil {
		panic(err)
	}
	return t
}

// seed returns the next seed by O6: H(seed || largest VRF output of a contender).
func seed(from []byte, before state, b block, after state) []byte {
	candidates := before.Commitments
	if !before.Config.Reveal {
		candidates = nil
		for at, i := range b.Included {
			candidates = append(candidates, commitment{By: uint32(i), Draw: b.Draws[at]})
		}
	}
	first := len(outputs())
	for _, c := range candidates {
		p := after.Participants[c.By]
		if c.Draw != none && p.Active && p.Reputation > 0 && p.Contends <= after.Closed {
			first = min(first, c.Draw)
		}
	}
	largest := make([]byte, leader.OutputSize)
	if first < len(outputs()) {
		largest = output(outputs()[first])
	}
	hash := sha256.Sum256(append(slices.Clone(from), largest...))
	return hash[:]
}
