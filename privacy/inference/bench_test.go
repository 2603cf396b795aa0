package inference

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
)

var (
	trials  = flag.Int("trials", 20, "trials of BenchmarkMembership, with the canary and without each")
	samples = flag.Int("samples", 600, "examples of its victim")
	hidden  = flag.Int("hidden", 0, "hidden units of its model")
	strokes = flag.Bool("strokes", false, "its inputs are strokes, not pixels")
)

// The numbers of docs/PRIVACY.md:
//
//	go test ./privacy/inference -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 1000
//	go test ./privacy/inference -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 100 -strokes
//	go test ./privacy/inference -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 200 -hidden 32
//	go test ./privacy/inference -run '^$' -bench Membership -benchtime 1x -timeout 1h -trials 60 -samples 14999
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
