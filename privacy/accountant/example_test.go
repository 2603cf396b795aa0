package accountant_test

import (
	"fmt"

	"github.com/spdl/spdl/privacy/accountant"
)

// The default preset: how much noise a budget asks for, what that spends, and how many rounds there
// are in it.
func Example() {
	const epsilon, delta = 2, 1e-6
	z, err := accountant.NoiseMultiplier(accountant.RDP, 0.1, 100, epsilon, delta)
	if err != nil {
		panic(err)
	}
	fmt.Printf("noise multiplier %.3f\n", z)

	round := accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: z}
	for _, method := range []accountant.Method{accountant.RDP, accountant.PLD} {
		spent, err := accountant.Epsilon(method, delta, accountant.Step{Mechanism: round, Rounds: 100})
		if err != nil {
			panic(err)
		}
		fmt.Printf("epsilon by %s: %.2f\n", method, spent)
	}

	// Output:
	// noise multiplier 2.668
	// epsilon by rdp: 2.00
	// epsilon by pld: 1.84
}

// The paper's lemma claims epsilon 8 for noise that, without secret sampling, gives 191.
func ExampleLemma1() {
	calibration, err := accountant.Lemma1{
		Sensitivity: 0.01, LearningRate: 0.01, Rounds: 100, Epsilon: 8, Delta: 1e-6,
	}.Calibrate(1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("claimed %v, by RDP %.0f\n", calibration.ClaimedEpsilon, calibration.Epsilon)
	// Output: claimed 8, by RDP 191
}
