package accountant

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestText: three digits, never below the epsilon itself, and no trailing digit for an error of the
// last bit.
func TestText(t *testing.T) {
	for want, epsilon := range map[string]float64{
		"2.000": 2, "0.470": 0.47 * (1 + 1e-15), "1.745": 1.7441, "0.0100": 0.01, "0.000123": 0.000123, "0.000": 0,
		"+Inf": math.Inf(1), "NaN": math.NaN(), "12.346": 12.3456,
	} {
		require.Equal(t, want, Text(epsilon))
	}
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.Float64Range(1e-9, 1e4).Draw(t, "epsilon")
		shown, err := strconv.ParseFloat(Text(epsilon), 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, shown, epsilon*(1-1e-6))
		require.LessOrEqual(t, shown, epsilon+max(1e-3, 1e-2*epsilon))
	})
}
