package privacy_test

import (
	"fmt"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// One round of a worker. The gradient sum comes from a model: every example of the batch adds Clip
// to its norm at most.
func ExampleMechanism() {
	config := privacy.Config{
		Kind: privacy.Gaussian, Clip: 1, NoiseMultiplier: 2.67, ExpectedBatch: 1500, Momentum: 0.9,
	}
	grid := gradients.Grid{Width: gradients.Int8, Step: privacy.StepFor(config)}
	src := privacy.NewSecureSource()
	mechanism, err := privacy.New(config, grid, 1970, src)
	if err != nil {
		panic(err)
	}

	batch := privacy.PoissonSample(nil, 15000, 0.1, src)
	_ = batch // whose gradients make
	sum := make([]float64, 1970)

	vector, report := mechanism.Release(sum)
	fmt.Printf("release %d: %d coordinates, noise %.3g\n", report.Release, vector.Len(), report.NoiseStd)
	// Output: release 1: 1970 coordinates, noise 0.000178
}
