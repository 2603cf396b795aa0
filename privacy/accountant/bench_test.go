package accountant_test

import (
	"fmt"
	"testing"

	"github.com/spdl/spdl/privacy/accountant"
)

var benchSteps = []accountant.Step{
	{Mechanism: accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: 2.67}, Rounds: 100},
	{Mechanism: accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: 5}, Rounds: 10_000},
	{Mechanism: accountant.Mechanism{SamplingRate: 1e-5, NoiseMultiplier: 1}, Rounds: 10_000},
	{Mechanism: accountant.Mechanism{SamplingRate: 0.01, NoiseMultiplier: 1}, Rounds: 1_000_000},
}

func BenchmarkEpsilon(b *testing.B) {
	for _, method := range []accountant.Method{accountant.RDP, accountant.PLD} {
		for _, s := range benchSteps {
			b.Run(fmt.Sprintf("%s/q=%v/z=%v/T=%d", method, s.SamplingRate, s.NoiseMultiplier, s.Rounds), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := accountant.Epsilon(method, 1e-6, s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNoiseMultiplier(b *testing.B) {
	for _, method := range []accountant.Method{accountant.RDP, accountant.PLD} {
		b.Run(fmt.Sprintf("%s/q=0.1/T=100/epsilon=2", method), func(b *testing.B) {
			for b.Loop() {
				if _, err := accountant.NoiseMultiplier(method, 0.1, 100, 2, 1e-6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
