package app_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// TestAssembleExecutes states the law between the verbs: Execute accepts what Assemble returns from
// transactions that Admit accepted, with every rule, size, height and selection of honest
// participants, and the invariants of the state hold.
func TestAssembleExecutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{4, 5, 7}).Draw(t, "n")
		rule := rapid.SampledFrom([]string{"mean", "krum", "multi-krum", "median", "trimmed-mean",
			"nnm+trimmed-mean"}).Draw(t, "rule")
		width := rapid.SampledFrom([]uint32{1, 2}).Draw(t, "width")
		s := apptest.State(n, func(p *params.Params) {
			p.Rule.Name, p.Grid.Width = rule, width
			p.Election.Term = rapid.Uint64Range(1, 3).Draw(t, "term")
		})
		for step := range 12 {
			height := s.Height + 1
			present := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID[int]).Draw(t, "present")
			pending := apptest.Gradients(s, present...)
			for p := range n {
				if a, err := s.DraftAggregate(height, uint32(p), pending); err == nil && rapid.Bool().Draw(t, "signs") {
					pending = append(pending, apptest.Sign(p, a))
				}
			}
			for _, x := range pending {
				if err := s.Admit(x); err != nil {
					t.Fatalf("step %d: honest transaction rejected: %v", step, err)
				}
			}
			txs := s.Assemble(height, pending, 0)
			out, err := s.Execute(app.Block{Height: height, Txs: txs})
			if err != nil {
				t.Fatalf("step %d: assembled block rejected: %v", step, err)
			}
			if again, _ := s.Execute(app.Block{Height: height,
				Txs: decodeAgain(t, txs)}); again.State.Hash() != out.State.Hash() {
				t.Fatalf("step %d: two executions differ", step)
			}
			checkInvariants(t, s, out, len(txs))
			s = out.State
		}
	})
}

func decodeAgain(t *rapid.T, txs []*tx.Tx) []*tx.Tx {
	again := make([]*tx.Tx, len(txs))
	for i, x := range txs {
		var err error
		if again[i], err = tx.Decode(x.Raw); err != nil {
			t.Fatal(err)
		}
	}
	return again
}

func checkInvariants(t *rapid.T, before *app.State, out *app.Outcome, txs int) {
	after := out.State
	closed := out.Record != nil
	if closed != (txs > 0) || after.Progress.Round != before.Progress.Round+map[bool]uint64{true: 1}[closed] {
		t.Fatalf("round %d after %d with %d transactions", after.Progress.Round, before.Progress.Round, txs)
	}
	for _, p := range after.Participants {
		if p.Reputation < 0 || p.Reputation > params.One {
			t.Fatalf("reputation %d of participant %d", p.Reputation, p.Index)
		}
	}
	if closed {
		if k, n := len(out.Record.Contributions), before.Active(); k < n-int(before.Params.Rule.Byzantine) || k > n {
			t.Fatalf("%d of %d included", k, n)
		}
	}
}

// consortium is a chain under random changes, with the data that the test tracks: the number of the
// apptest key with which each participant signs, and CometBFT's validators.
type consortium struct {
	s          *app.State
	keys       ring
	unused     int                 // the next of apptest's keys
	asked      map[string][2]int   // numbers of the signing and the VRF key that a proposal registers, 0 for none
	validators map[string]struct{} // validators by consensus key
	past       []*tx.Tx            // all transactions sent so far
	recorded   map[string]bool     // ids of the proposals in blocks, without those of joins
	few        int                 // number of approvals with which a proposal always counted against its sender
}

// change draws operations: most are valid, some are not.
func (c *consortium) change(t *rapid.T) []*tx.Tx {
	s := c.s
	who := func() uint32 { return rapid.Uint32Range(0, uint32(len(s.Participants))).Draw(t, "who") }
	fresh := func() int { c.unused++; return c.unused }
	var x *tx.Tx
	switch rapid.SampledFrom([]string{"join", "approve", "withdraw", "leave", "remove", "restore", "rotate", "evidence",
		"epoch", "epoch", "replay"}).Draw(t, "kind") {
	case "join":
		k := fresh()
		x = apptest.Join(k)
		if rapid.Bool().Draw(t, "worker") {
			x = joinAs(k, func(j *tx.Join) { j.ConsensusKey = nil })
		}
		c.asked[string(id(x))] = [2]int{k, k}
		if rapid.Bool().Draw(t, "brought") {
			i := who()
			return []*tx.Tx{c.keys.sign(i, &tx.Approve{Participant: i, Proposal: id(x), Join: x.Raw})}
		}
	case "replay":
		if len(c.past) == 0 {
			return nil
		}
		return []*tx.Tx{rapid.SampledFrom(c.past).Draw(t, "past")}
	case "approve":
		id := make([]byte, 32)
		if n := len(s.Proposals); n > 0 {
			id = s.Proposals[rapid.IntRange(0, n-1).Draw(t, "proposal")].Id
		}
		var out []*tx.Tx
		for _, i := range rapid.SliceOfNDistinct(rapid.SampledFrom(active(s)), 1, -1, rapid.ID[uint32]).Draw(t, "voters") {
			out = append(out, c.keys.sign(i, &tx.Approve{Participant: i, Proposal: id,
				Revocations: s.Participants[i].Revocations}))
		}
		return out
	case "withdraw":
		if len(s.Proposals) == 0 {
			return nil
		}
		p := rapid.SampledFrom(s.Proposals).Draw(t, "proposal")
		var out []*tx.Tx
		for _, i := range rapid.SliceOfNDistinct(rapid.SampledFrom(active(s)), 1, -1, rapid.ID[uint32]).Draw(t, "voters") {
			out = append(out, c.keys.sign(i, &tx.Withdraw{Participant: i, Proposal: p.Id,
				Revocations: s.Participants[i].Revocations}))
		}
		return out
	case "leave":
		i := who()
		return []*tx.Tx{c.keys.sign(i, &tx.Remove{Participant: i, Subject: i, Nonce: tick()})}
	case "remove":
		i := who()
		x = c.keys.sign(i, &tx.Remove{Participant: i, Subject: who(), Nonce: tick()})
	case "restore":
		i := who()
		x = c.keys.sign(i, &tx.Restore{Participant: i, Subject: who(), Nonce: tick()})
	case "rotate":
		i, keys := who(), [3]int{}
		for j := range keys {
			if rapid.Bool().Draw(t, "replaced") {
				keys[j] = fresh()
			}
		}
		x = rotate(i, c.keys, keys[0], keys[1], keys[2])
		c.asked[string(id(x))] = [2]int{keys[0], keys[1]}
		return []*tx.Tx{x}
	case "evidence":
		i, round := who(), s.Progress.Round
		if s.Finished() {
			round--
		}
		round = rapid.Uint64Range(0, round+2).Draw(t, "round")
		if rapid.Bool().Draw(t, "of aggregates") {
			return []*tx.Tx{evidence(aggregatesOf(c.keys.key(i), s.Progress.Epoch, round, i,
				rapid.Uint32Range(0, 3).Draw(t, "view")))}
		}
		return []*tx.Tx{evidence(gradientsOf(c.keys.key(i), s.Progress.Epoch, round, i))}
	case "epoch":
		i, p := who(), s.Params
		p.Training.Rounds = rapid.Uint64Range(1, 4).Draw(t, "rounds")
		p.Rule.Name = rapid.SampledFrom([]string{"mean", "multi-krum", "median"}).Draw(t, "rule")
		p.Election.Term = rapid.Uint64Range(1, 2).Draw(t, "term")
		p.Training.Momentum = rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "momentum")
		p.Model.Inputs = rapid.Uint32Range(2, 3).Draw(t, "inputs")
		x = c.keys.sign(i, app.NewStartEpoch(i, tick(), s.Progress.Epoch+1, p, rapid.Bool().Draw(t, "keep"),
			rapid.Bool().Draw(t, "now")))
	}
	out := []*tx.Tx{x}
	for _, i := range rapid.SliceOfNDistinct(rapid.SampledFrom(active(s)), 0, -1, rapid.ID[uint32]).Draw(t, "voters") {
		vote := &tx.Approve{Participant: i, Proposal: id(x)}
		if int(i) < len(s.Participants) {
			vote.Revocations = s.Participants[i].Revocations
		}
		out = append(out, c.keys.sign(i, vote))
	}
	return out
}

// advance moves to the state after a block.
func (c *consortium) advance(t *rapid.T, out *app.Outcome) {
	for _, change := range out.Enacted {
		if asked, ok := c.asked[string(change.Proposal)]; ok && change.Refused == nil {
			if asked[0] != 0 {
				c.keys.signing[change.Participant] = asked[0]
			}
			if asked[1] != 0 {
				c.keys.vrf[change.Participant] = asked[1]
			}
		}
	}
	for _, v := range out.Validators {
		_, there := c.validators[string(v.ConsensusKey)]
		if there != (v.Power == 0) {
			t.Fatalf("CometBFT would halt: power %d for a validator, there: %t", v.Power, there)
		}
		if delete(c.validators, string(v.ConsensusKey)); v.Power > 0 {
			c.validators[string(v.ConsensusKey)] = struct{}{}
		}
	}
	c.s = out.State
}

// check checks the invariants of a state.
func (c *consortium) check(t *rapid.T, out *app.Outcome) {
	s := c.s
	if s.Progress.Opened > s.Height+1 || out.Record != nil && s.Progress.Opened != s.Height+1 {
		t.Fatalf("opened at %d, the height is %d", s.Progress.Opened, s.Height)
	}
	velocity := 0
	if s.Params.Training.Momentum != 0 {
		velocity = len(s.Model)
	}
	if len(s.Model) != s.Params.Model.Dim() || len(s.Velocity) != velocity {
		t.Fatalf("%d parameters, %d of velocity", len(s.Model), len(s.Velocity))
	}
	validators, signing, vrf := 0, map[string]bool{}, map[string]bool{}
	for _, p := range s.Participants {
		for _, key := range append([]app.FormerKey{{PubKey: p.PubKey}}, p.FormerKeys...) {
			if signing[string(key.PubKey)] {
				t.Fatalf("signing key %X twice", key.PubKey)
			}
			signing[string(key.PubKey)] = true
		}
		if vrf[string(p.VrfKey)] {
			t.Fatalf("VRF key %X twice", p.VrfKey)
		}
		vrf[string(p.VrfKey)] = true
		if p.Active && len(p.ConsensusKey) > 0 {
			validators++
			if _, ok := c.validators[string(p.ConsensusKey)]; !ok {
				t.Fatalf("participant %d has no validator", p.Index)
			}
		}
	}
	if validators != len(c.validators) || validators == 0 {
		t.Fatalf("%d validators, CometBFT has %d", validators, len(c.validators))
	}
	if n := s.Active(); s.F() > (n-1)/3 || n < 3 && s.Params.Rule.Name == "multi-krum" {
		t.Fatalf("N = %d, f = %d, %s", n, s.F(), s.Params.Rule.Name)
	}
	for _, o := range s.Offences {
		p := s.Participants[o.Participant]
		if o.Height > p.SettledHeight && p.Reputation != 0 {
			t.Fatalf("offence %+v and a reputation of %d", o, p.Reputation)
		}
	}
	c.few = min(c.few, max(1, s.F()))
	ids, own, joins := map[string]bool{}, map[uint32]int{}, 0
	for _, p := range s.Proposals {
		if ids[string(p.Id)] {
			t.Fatalf("proposal %X twice", p.Id)
		}
		ids[string(p.Id)] = true
		body, err := tx.DecodeBody(tx.Kind(p.Kind), p.Content)
		if err != nil {
			t.Fatal(err)
		}
		e, epoch := body.(*tx.StartEpoch)
		switch {
		case len(p.Approvals) > c.few:
		case len(p.Approvals) > 0 && !p.Accepted:
			own[p.Approvals[0]]++
		case tx.Kind(p.Kind) == tx.KindJoin && !p.Accepted:
			joins++
		}
		if boundary := out.Record != nil || out.Changed && s.Finished(); boundary && p.Accepted &&
			(!epoch || e.Now || s.Finished()) {
			t.Fatalf("a boundary left %+v", p)
		}
	}
	for i, n := range own {
		if n > 4 {
			t.Fatalf("%d proposals of participant %d wait", n, i)
		}
	}
	if joins > 64 {
		t.Fatalf("%d joins wait", joins)
	}
	ranked := map[uint32]bool{}
	for _, i := range s.Progress.Ranking {
		if ranked[i] || !s.Participants[i].Active {
			t.Fatalf("ranking %v", s.Progress.Ranking)
		}
		ranked[i] = true
	}
}

// TestOperationsExecute states the law of the operations: Execute accepts what Operations returns
// after the result of Assemble, under random joins, approvals, departures, rotations, restores,
// evidence and epochs, valid and invalid, with rounds between, and the invariants of the consortium
// hold.
func TestOperationsExecute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 4, 5, 7}).Draw(t, "n")
		c := &consortium{
			s: apptest.State(n, func(p *params.Params) {
				p.Rule.Name = rapid.SampledFrom([]string{"mean", "median", "trimmed-mean"}).Draw(t, "rule")
				p.Training.Rounds = rapid.Uint64Range(1, 4).Draw(t, "rounds")
				p.Reputation.Penalty = 500_000
			}),
			keys: ring{map[uint32]int{}, map[uint32]int{}}, unused: 100, asked: map[string][2]int{},
			validators: map[string]struct{}{}, recorded: map[string]bool{}, few: n,
		}
		for i := range n {
			c.validators[string(apptest.ConsensusKey(i))] = struct{}{}
		}
		for range rapid.IntRange(1, 12).Draw(t, "blocks") {
			s, height := c.s, c.s.Height+1
			var round, pending []*tx.Tx
			if !s.Finished() {
				silent := rapid.SliceOfNDistinct(rapid.SampledFrom(active(s)), 0, s.F(), rapid.ID[uint32]).Draw(t, "silent")
				round = c.keys.closes(s, height, slices.DeleteFunc(active(s),
					func(i uint32) bool { return slices.Contains(silent, i) })...)
			}
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				pending = append(pending, c.change(t)...)
			}
			c.past = append(c.past, pending...)
			limit := int64(0)
			if rapid.Bool().Draw(t, "limited") {
				limit = size(round) + rapid.Int64Range(0, 1000).Draw(t, "room")
			}
			others := s.Operations(pending, round, limit)
			if whole := size(round) + size(others); limit > 0 && whole > limit {
				t.Fatalf("%d bytes, at most %d", whole, limit)
			}
			txs := slices.Concat(round, others)
			out := step(t, s, txs...)
			for _, x := range others {
				switch x.Kind() {
				case tx.KindJoin, tx.KindApprove, tx.KindWithdraw, tx.KindEvidence: // these have no nonce
				default:
					if c.recorded[string(id(x))] {
						t.Fatalf("a %s was recorded twice", x.Kind())
					}
					c.recorded[string(id(x))] = true
				}
			}
			if rapid.Bool().Draw(t, "again") {
				if again, err := s.Execute(app.Block{Height: height, Txs: decodeAgain(t, txs)}); err != nil ||
					again.State.Hash() != out.State.Hash() {
					t.Fatalf("two executions differ: %v", err)
				}
			}
			if out.Record != nil {
				if k := len(out.Record.Contributions); k < s.Active()-s.F() || k > s.Active() {
					t.Fatalf("%d of %d included", k, s.Active())
				}
			}
			for _, p := range out.State.Participants {
				if p.Reputation < 0 || p.Reputation > params.One {
					t.Fatalf("reputation %d of participant %d", p.Reputation, p.Index)
				}
			}
			c.advance(t, out)
			c.check(t, out)
			if rapid.IntRange(0, 4).Draw(t, "waits") == 0 { // until the round stalls
				for range 40 {
					out = step(t, c.s)
					c.advance(t, out)
				}
				c.check(t, out)
			}
		}
	})
}

// size returns the bytes of transactions in a block, as CometBFT counts them.
func size(txs []*tx.Tx) (total int64) {
	for _, x := range txs {
		total += int64(len(x.Raw)) + 2
		for n := len(x.Raw); n > 127; n >>= 7 {
			total++
		}
	}
	return total
}

// FuzzExecuteOthers: no transaction that decodes panics the pool or a block, even if it is signed
// again as a participant or an outsider. Execute accepts a block with a single operation that the
// pool admits. A rejection changes no state.
func FuzzExecuteOthers(f *testing.F) {
	open := round(f, apptest.State(4, mean), equivocation(3, 0, 0)).State
	open = step(f, open, approved(apptest.Join(5), 0)...).State
	finished := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 1 })
	finished = round(f, finished, equivocation(3, 0, 0)).State
	removal, joining := remove(0, 3), apptest.Join(5)
	finished = step(f, finished, approved(removal, 1)...).State
	worlds := []*app.State{open, finished}
	rounds, before := [][]*tx.Tx{nil, nil}, [][]byte{open.Encode(), finished.Encode()}
	opened, txs := ring{}.ripe(f, open)
	rounds[0], worlds[0], before[0] = txs, opened, opened.Encode()
	for _, x := range append([]*tx.Tx{
		apptest.Join(4), leave(1), remove(1, 2), restore(0, 3), rotate(2, ring{}, 52, 53, 54), equivocation(2, 0, 0),
		evidence(aggregatesOf(1, 0, 1, 1, 2)), ring{}.approve(1, apptest.Join(5)), ring{}.approve(2, removal),
		bring(2, apptest.Join(6)), bring(1, joining), removal, withdraw(0, apptest.Join(5), 0), withdraw(1, removal, 0),
		ring{}.sign(1, app.NewStartEpoch(1, tick(), 1, open.Params, true, true)),
		ring{}.sign(1, app.NewStartEpoch(1, tick(), 1, open.Params, false, false)),
	}, rounds[0]...) {
		f.Add(x.Raw, uint8(0))
		f.Add(x.Raw, uint8(4))
	}
	f.Fuzz(func(t *testing.T, raw []byte, signer uint8) {
		x, err := tx.Decode(raw)
		if err != nil {
			return
		}
		var again *tx.Tx
		if e, ok := x.Body.(*tx.Evidence); ok {
			again = accuse(tx.Kind(e.Kind), e.First, e.Second, int(signer%8), int(signer%8))
		} else {
			again = apptest.Sign(int(signer%8), x.Body)
		}
		for i, s := range worlds {
			for _, x := range []*tx.Tx{x, again} {
				admitted := s.Admit(x)
				_, alone := s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{x}})
				if beside := x.Gradient == nil && x.Aggregate == nil; beside && (admitted == nil) != (alone == nil) {
					t.Fatalf("the pool: %v; the block: %v", admitted, alone)
				}
				_, behind := s.Execute(app.Block{Height: s.Height + 1, Txs: append(slices.Clone(rounds[i]), x)})
				if len(rounds[i]) > 0 && alone == nil && behind != nil {
					t.Fatalf("behind a round: %v", behind)
				}
				if picked := len(s.Operations([]*tx.Tx{x}, nil, 0)); (picked == 1) != (alone == nil) {
					t.Fatalf("Operations picks %d, the block: %v", picked, alone)
				}
			}
			if !bytes.Equal(before[i], s.Encode()) {
				t.Fatal("the state has changed")
			}
		}
	})
}

// TestHashBindsEverything: every part of the state affects the hash.
func TestHashBindsEverything(t *testing.T) {
	base := run(t, apptest.State(4, func(p *params.Params) { p.Training.Momentum = 0.5 }), 2)[1]
	changes := map[string]func(*app.State){
		"params":      func(s *app.State) { s.Params.Training.Rounds++ },
		"round":       func(s *app.State) { s.Progress.Round++ },
		"seed":        func(s *app.State) { s.Progress.Seed[0] ^= 1 },
		"ranking":     func(s *app.State) { s.Progress.Ranking[0]++ },
		"reputation":  func(s *app.State) { s.Participants[3].Reputation-- },
		"model":       func(s *app.State) { s.Model[7] += 1e-9 },
		"velocity":    func(s *app.State) { s.Velocity[0] += 1e-9 },
		"opened":      func(s *app.State) { s.Progress.Opened++ },
		"participant": func(s *app.State) { s.Participants = s.Participants[:3] },
	}
	for name, change := range changes {
		s, err := app.DecodeState(base.Height, base.Encode())
		require.NoError(t, err)
		change(s)
		changed, err := app.DecodeState(s.Height, s.Encode())
		require.NoError(t, err)
		require.NotEqual(t, base.Hash(), changed.Hash(), name)
	}
}
