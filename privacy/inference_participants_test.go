package privacy_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/privacy/accountant"
)

// crowdSteps is the number of rounds of BenchmarkParticipants.
const crowdSteps = 30

// BenchmarkParticipants measures what a whole participant as the unit costs: each participant's data
// are one group that is in every batch. Its gradient is public, so each adds the noise of the whole
// guarantee by itself (local). Beside it is the noise that a trusted sum would need (central), and
// none. The mean of the gradients is the step, and nobody attacks. The numbers of ADR 29:
//
//	go test ./privacy -run '^$' -bench Participants -benchtime 1x -timeout 1h -seeds 3
func BenchmarkParticipants(b *testing.B) {
	data, err := mnist.Embedded()
	require.NoError(b, err)
	for _, n := range []int{20, 300, 1000} {
		for _, e := range []float64{2, 4, 8, math.Inf(1)} {
			for seed := range uint64(*seeds) {
				z := 0.0
				if !math.IsInf(e, 1) {
					z, err = accountant.NoiseMultiplier(accountant.RDP, 1, crowdSteps, e, delta)
					require.NoError(b, err)
				}
				b.Run(fmt.Sprintf("N=%d/epsilon=%v/seed=%d", n, e, 1+seed), func(b *testing.B) {
					for b.Loop() {
						b.ReportMetric(z, "z")
						b.ReportMetric(trainCrowd(b, data, n, z, 1+seed), "local")
						b.ReportMetric(trainCrowd(b, data, n, z/math.Sqrt(float64(n)), 1+seed), "central")
					}
				})
			}
		}
	}
}

// trainCrowd trains softmax on pixels with n participants and returns the accuracy on the test set.
func trainCrowd(b *testing.B, data mnist.Data, n int, z float64, seed uint64) float64 {
	p := params.Params{
		Model: params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: mnist.Classes},
		Privacy: params.Privacy{Unit: params.UnitGroup, Mechanism: params.MechanismGaussian, Clip: 1, NoiseMultiplier: z,
			Batch: 1, SamplingRate: 1},
		Grid: params.Grid{Width: 2},
	}
	if z == 0 {
		p.Privacy.Mechanism, p.Grid.Step = params.MechanismNone, fineStep
	} else {
		p.Grid.Step = worker.GridStep(p.Privacy)
	}
	m, err := model.New(model.SpecOf(p.Model))
	require.NoError(b, err)
	var crowd []*worker.Trainer
	for i, part := range mnist.PartitionIID(data.Train.Len(), n, seed) {
		f, err := data.Train.Subset(part).Features(2, 0, math.MaxUint8)
		require.NoError(b, err)
		f.Groups = make([]uint32, f.Len())
		t, err := worker.NewTrainer(p, f, privacy.NewTestSource(seed<<20+uint64(i)))
		require.NoError(b, err)
		crowd = append(crowd, t)
	}
	x := make([]float64, m.Dim())
	for step := range crowdSteps {
		sum := make([]float64, m.Dim())
		for _, t := range crowd {
			v, _ := t.Step(x)
			for j := range sum {
				sum[j] += p.Grid.Step * float64(v.At(j))
			}
		}
		// Steps shrink in length, so that the last ones do not only add noise.
		for j := range x {
			x[j] -= 2 * (1 - float64(step)/crowdSteps) * sum[j] / float64(n)
		}
	}
	test, err := data.Test.Features(2, 0, math.MaxUint8)
	require.NoError(b, err)
	return m.Evaluate(x, test.X, test.Labels).Accuracy
}
