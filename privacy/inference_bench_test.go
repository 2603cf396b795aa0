package privacy_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

var (
	trials  = flag.Int("trials", 20, "trials of BenchmarkMembership, with the canary and without each")
	samples = flag.Int("samples", 600, "examples of its victim")
	hidden  = flag.Int("hidden", 0, "hidden units of its model")
	seeds   = flag.Int("seeds", 1, "seeds of BenchmarkCopies: 1 and the following ones")
	strokes = flag.Bool("strokes", false, "its inputs are strokes, not pixels")
)

// The numbers of docs/PRIVACY.md:
//
//	go test ./privacy -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 1000
//	go test ./privacy -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 100 -strokes
//	go test ./privacy -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 200 -hidden 32
//	go test ./privacy -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 60 -samples 14999
func BenchmarkMembership(b *testing.B) {
	data, err := mnist.Embedded()
	require.NoError(b, err)
	for _, canary := range []Canary{Typical, Mislabelled, Crafted} {
		for _, multiplier := range []float64{0, 2.670} {
			b.Run(fmt.Sprintf("%s/z=%v", canary, multiplier), func(b *testing.B) {
				for b.Loop() {
					s, err := OnMNIST(data.Train, Options{
						Strokes: *strokes, Hidden: *hidden, Samples: *samples, Rounds: 100, NoiseMultiplier: multiplier, Canary: canary,
						Seed: 1,
					})
					require.NoError(b, err)
					a, err := New(s)
					require.NoError(b, err)
					r := a.Run(*trials, 2)
					b.ReportMetric(r.Advantage.Value, "advantage")
					b.ReportMetric(r.AUC.Value, "AUC")
					b.Log(r)
				}
			})
		}
	}
}

// BenchmarkCopies attacks a person with several equal rows, where the unit of privacy is an example
// and where it is a group: make canaries, and with QUICK=1 few trials.
func BenchmarkCopies(b *testing.B) {
	data, err := mnist.Embedded()
	require.NoError(b, err)
	for _, k := range []int{1, 5, 20} {
		for _, unit := range []string{"", params.UnitGroup} {
			for seed := range uint64(*seeds) {
				b.Run(fmt.Sprintf("k=%d/unit=%s/seed=%d", k, nameOf(unit), 1+seed), func(b *testing.B) {
					for b.Loop() {
						s, err := OnMNIST(data.Train, Options{
							Samples: *samples, Rounds: rounds, NoiseMultiplier: noise, Canary: Crafted, Copies: k, Unit: unit,
							Seed: 1 + seed,
						})
						require.NoError(b, err)
						a, err := New(s)
						require.NoError(b, err)
						r := a.Run(*trials, 2+seed<<32)
						e, d := float64(epsilon), delta
						if unit == "" {
							e, d = OfGroup(k, epsilon, delta)
						}
						b.ReportMetric(r.Advantage.Value, "advantage")
						b.ReportMetric(MaxAdvantage(e, d), "bound")
						b.ReportMetric(r.Epsilon(delta), "epsilon>=")
						b.ReportMetric(e, "promised")
						b.Log(r)
					}
				})
			}
		}
	}
}

func nameOf(unit string) string {
	if unit == "" {
		return "example"
	}
	return unit
}
