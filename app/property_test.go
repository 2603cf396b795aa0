package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestAssembleExecutes states the law between the verbs: whatever Admit let in
// and Assemble returns, Execute accepts, on every rule, size, height and
// selection of honest participants; and the invariants of the state hold.
func TestAssembleExecutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{4, 5, 7}).Draw(t, "n")
		rule := rapid.SampledFrom([]string{"mean", "krum", "multi-krum", "median", "trimmed-mean", "nnm+trimmed-mean"}).Draw(t, "rule")
		width := rapid.SampledFrom([]uint32{1, 2}).Draw(t, "width")
		s := apptest.State(n, func(p *app.Params) {
			p.Rule.Name, p.Grid.Width = rule, width
			p.Election.Term = rapid.Uint64Range(1, 3).Draw(t, "term")
		})
		for step := range 12 {
			height := s.Height + 1
			present := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID[int]).Draw(t, "present")
			pending := apptest.Gradients(s, present...)
			for p := range n {
				if a, err := s.Lead(height, uint32(p), pending); err == nil && rapid.Bool().Draw(t, "signs") {
					pending = append(pending, apptest.Sign(p, a))
				}
			}
			for _, x := range pending {
				if err := s.Admit(x); err != nil {
					t.Fatalf("step %d: honest transaction refused: %v", step, err)
				}
			}
			txs := s.Assemble(height, pending, 0)
			out, err := s.Execute(app.Block{Height: height, Txs: txs})
			if err != nil {
				t.Fatalf("step %d: assembled block rejected: %v", step, err)
			}
			if again, _ := s.Execute(app.Block{Height: height, Txs: decodeAgain(t, txs)}); again.State.Hash() != out.State.Hash() {
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
		if p.Reputation < 0 || p.Reputation > app.One {
			t.Fatalf("reputation %d of participant %d", p.Reputation, p.Index)
		}
	}
	if closed {
		if k, n := len(out.Record.Contributions), before.Active(); k < n-int(before.Params.Rule.Byzantine) || k > n {
			t.Fatalf("%d of %d included", k, n)
		}
	}
}

// TestHashBindsEverything: every part of the state reaches the hash.
func TestHashBindsEverything(t *testing.T) {
	base := run(t, apptest.State(4, func(p *app.Params) { p.Training.Momentum = 0.5 }), 2)[1]
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
