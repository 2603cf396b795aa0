package accountant_test

import (
	"fmt"

	"github.com/spdl/spdl/privacy/accountant"
)

// The default preset: how much noise a budget asks for, what that spends, and how many rounds there are in it.
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

	rounds, err := accountant.MaxRounds(round, epsilon, delta)
	if err != nil {
		panic(err)
	}
	fmt.Printf("rounds in the budget: %d\n", rounds)
	// Output:
	// noise multiplier 2.668
	// epsilon by rdp: 2.00
	// epsilon by pld: 1.84
	// rounds in the budget: 100
}

// What a worker shows after each round.
func ExampleLedger() {
	ledger, err := accountant.NewLedger(accountant.Mechanism{SamplingRate: 0.1, NoiseMultiplier: 2.67})
	if err != nil {
		panic(err)
	}
	for _, rounds := range []int{0, 1, 50, 100} {
		spent, err := ledger.Epsilon(rounds, 1e-6)
		if err != nil {
			panic(err)
		}
		fmt.Printf("after %3d rounds: %.3f\n", rounds, spent)
	}
	// Output:
	// after   0 rounds: 0.000
	// after   1 rounds: 0.370
	// after  50 rounds: 1.425
	// after 100 rounds: 1.998
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
