package train

import (
	"context"
	"math"
	"time"

	"github.com/spdl/spdl/testnet"
)

// TimeColumns names the paper's three stages of a round as node 0 times them, and their sum. A
// value is NaN if node 0 did not see the whole round.
var TimeColumns = []string{"round", "t_lgc_ms", "t_ge_ms", "t_bc_ms", "round_ms"}

// Time runs a net of the paper's preset, with training steps that are longer by step, and times its rounds.
func Time(ctx context.Context, nodes int, rounds uint64, step time.Duration, seed uint64) (rows [][]float64,
	err error) {
	warmup := uint64(3) // these rounds are left out, because the nodes still connect
	if step > 0 {
		warmup = 1
	}
	m := testnet.Manifest{Validators: nodes, Preset: "paper", Rounds: rounds + warmup, StepDelay: step, Seed: seed}
	err = runNet(ctx, m, func(ctx context.Context, n *testnet.Net) error {
		return testnet.Follow(ctx, n, nil, func(r testnet.Round) error {
			if r.Round < warmup {
				return nil
			}
			lgc, ge, bc := math.NaN(), math.NaN(), math.NaN()
			if r.LGC != nil && r.GE != nil && r.BC != nil {
				lgc, ge, bc = *r.LGC, *r.GE, *r.BC
			}
			rows = append(rows, []float64{float64(r.Round), lgc, ge, bc, lgc + ge + bc})
			return nil
		})
	})
	return rows, err
}
