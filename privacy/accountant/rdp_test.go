package accountant

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

var preset = Mechanism{SamplingRate: 0.1, NoiseMultiplier: 2.670}

// Every further round costs something.
func TestRDPRisesWithRounds(t *testing.T) {
	last := 0.0
	for rounds := 1; rounds <= 200; rounds++ {
		epsilon := epsilonOf(t, RDP, 1e-6, Step{preset, rounds})
		assert.Greater(t, epsilon, last, "round %d", rounds)
		last = epsilon
	}
}
