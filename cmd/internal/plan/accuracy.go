package plan

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/model"
)

// Accuracy is the accuracy that was measured on MNIST at the settings of a plan.
type Accuracy struct {
	Measured bool     `json:"measured"`
	Clean    *float64 `json:"clean"` // the accuracy with honest participants only; null if not measured
	// Attacked is the accuracy with f Byzantine participants under the worst measured attack. It is
	// null if no attack was measured, or if the plan has no noise floor.
	Attacked *float64 `json:"attacked"`
	// Committed is the accuracy under the worst measured attack on a chain with commitments (election.commit_reveal),
	// where attackers see no honest gradient of the round. It is null if it was not measured.
	Committed *float64       `json:"attacked_with_commitments"`
	Table     *TableForecast `json:"table,omitempty"`
	// Source describes the measurement, or says why there is none.
	Source string `json:"source"`
}

// measured holds the accuracies that the preset default reached on MNIST: `spdl-lab experiment attacks`, data dealt out
// evenly, no worker momentum, the preset's rule and learning rate, clip 1, three seeds, the worst of 16 attacks.
// TestMeasuredNoise compares the multipliers with the accountant.
var measured = []struct {
	n, f, samples, rounds int
	multiplier            float64
	clean                 float64 // without attackers
	attacked              float64 // by attackers that see the round's honest gradients
	committed             float64 // by attackers that see those of the round before
}{
	{4, 1, 15000, 25, 11.15, 0.984, 0.961, 0.982},
	{10, 3, 6000, 19, 5.203, 0.983, 0.972, 0.981},
	{20, 6, 3000, 14, 4.466, 0.982, 0.968, 0.980},
	{20, 6, 3000, 8, 11.95, 0.977, 0.931, 0.969},
}

// strokes is the model of these runs.
var strokes = model.Spec{Inputs: 160, Classes: 10, NoBias: true}

// closeNoise is the relative difference below which noise multipliers count as equal.
const closeNoise = 0.01

// accuracy returns the measured accuracy at the plan's settings, or an Accuracy whose Source says that no run had these
// settings. noise is that in the mean of a participant's gradients over all rounds, in clip norms.
func (in Input) accuracy(multiplier, noise float64) Accuracy {
	if in.Rate > 0 {
		return in.forecast(noise)
	}
	for _, m := range measured {
		if in.Model != strokes || in.Participants != m.n || in.Byzantine != m.f || in.Samples != m.samples ||
			in.Rounds != m.rounds || in.Rule != "agnostic-mean" || in.SamplingRate != 1 || in.Clip != 1 || in.Momentum != 0 ||
			math.Abs(multiplier/m.multiplier-1) >= closeNoise {
			continue
		}
		a := Accuracy{Measured: true, Clean: &m.clean, Source: fmt.Sprintf("spdl-lab experiment attacks on "+
			"MNIST, IID, at noise multiplier %v, 3 seeds; the worst of 16 attacks", m.multiplier)}
		if in.NoiseFloor {
			a.Attacked, a.Committed = &m.attacked, &m.committed
		}
		return a
	}
	return Accuracy{Source: "not measured: no run had this model, N, f, rule, samples, sampling rate, momentum, rounds " +
		"and noise at clip 1"}
}
