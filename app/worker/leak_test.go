package worker

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// leaky returns parameters of two classes with d parameters and the noise of the default preset.
func leaky(d, batch int) params.Params {
	p := params.Params{Model: params.Model{Kind: params.ModelSoftmax, Inputs: uint32(d / 2), Classes: 2, Pool: 1,
		PixelScale: 1, NoBias: true}, Privacy: params.Privacy{Mechanism: params.MechanismGaussian, Clip: 1,
		NoiseMultiplier: 2.67, Batch: uint32(batch), SamplingRate: 0.1, WorkerMomentum: 0.8, NoiseFloor: true}}
	p.Grid = params.Grid{Width: 1, Step: GridStep(p.Privacy)}
	return p
}

// codeword is a malicious trainer: each of its rows has the clip norm and the signs of one word,
// which clipping cannot see.
type codeword struct {
	units int
	word  []float64
}

func (c *codeword) Len() int { return c.units }
func (c *codeword) Close()   {}
func (c *codeword) ClippedSum(_ context.Context, dst, _ []float64, picked []int) error {
	for j, w := range c.word {
		dst[j] = w * float64(len(picked)) * privacy.ClipScale(math.Sqrt(float64(len(c.word))), 1)
	}
	return nil
}

// TestMaliciousTrainerReleasesBits prints what docs/PRIVACY.md says of a trainer that hides data in
// its gradients: how many bytes leave the host, within all checks of the worker and the norms that
// validators admit.
func TestMaliciousTrainerReleasesBits(t *testing.T) {
	for _, c := range []struct {
		d, batch int
		wrong    float64 // the max share of wrong bits
	}{{62, 108, 1e-3}, {1600, 1500, 0.03}, {100_000, 1500, 0.05}} {
		p, rng := leaky(c.d, c.batch), rand.New(rand.NewPCG(1, 1))
		e := &codeword{units: 10 * c.batch, word: make([]float64, c.d)}
		trainer, err := NewExternal(p, e, privacy.NewSecureSource())
		require.NoError(t, err)
		before, wrong := make([]float64, c.d), 0
		const rounds = 20
		for k := range rounds {
			for j := range e.word {
				e.word[j] = float64(2*rng.IntN(2) - 1)
			}
			_, err := trainer.compute(t.Context(), params.RoundID{Round: uint64(k)}, make([]float64, c.d))
			require.NoError(t, err)
			v := trainer.release()
			low, high := p.Noise().Bounds(k+1, k+1)
			require.True(t, v.SquaredNorm() >= low && v.SquaredNorm() <= high, "validators admit it")
			for j := range before {
				now := float64(v.At(j)) * p.Grid.Step
				if (now-p.Privacy.WorkerMomentum*before[j])*e.word[j] < 0 {
					wrong++
				}
				before[j] = now
			}
		}
		share := float64(wrong) / float64(rounds*c.d)
		bits := 1.0 // of information in a sign
		if share > 0 {
			bits += share*math.Log2(share) + (1-share)*math.Log2(1-share)
		}
		signal := float64(c.batch) / p.Privacy.NoiseMultiplier
		t.Logf("d=%d, batch %d: %.4f of the bits wrong, %.0f bytes a round by signs, at most %.0f (Shannon)", c.d, c.batch,
			share, bits*float64(c.d)/8, float64(c.d)/16*math.Log2(1+signal*signal/float64(c.d)))
		require.Less(t, share, c.wrong)
	}
}

// BenchmarkGroupTime measures how well the time of a step tells whether a group of many rows was in
// it, as the area under the curve: 0.5 is not at all.
func BenchmarkGroupTime(b *testing.B) {
	for _, rows := range []int{50, 1000, 5000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			const others, inputs, classes = 5000, 160, 10
			p, f, rng := leaky(2*inputs, 500), mnist.Features{Inputs: inputs}, rand.New(rand.NewPCG(2, 2))
			p.Privacy.Unit, p.Model.Inputs, p.Model.Classes = params.UnitGroup, inputs, classes
			for i := range others + rows {
				for range inputs {
					f.X = append(f.X, rng.Float32())
				}
				f.Labels, f.Groups = append(f.Labels, uint8(rng.IntN(classes))), append(f.Groups, uint32(min(i, others)))
			}
			trainer, err := NewTrainer(p, f, privacy.NewSecureSource())
			require.NoError(b, err)
			var in, out []time.Duration
			for k := uint64(0); b.Loop(); k++ {
				for at := range uint64(300) {
					begun := time.Now()
					_, err := trainer.compute(b.Context(), params.RoundID{Epoch: k, Round: at}, make([]float64, p.Model.Dim()))
					require.NoError(b, err)
					took := time.Since(begun)
					if n := len(trainer.batch); n > 0 && trainer.batch[n-1] == others {
						in = append(in, took)
					} else {
						out = append(out, took)
					}
				}
			}
			wins := 0
			for _, with := range in {
				for _, without := range out {
					if with > without {
						wins++
					}
				}
			}
			b.ReportMetric(float64(wins)/float64(len(in)*len(out)), "AUC")
		})
	}
}
