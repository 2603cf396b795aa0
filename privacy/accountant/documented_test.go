package accountant

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// printed is a number of a document, and one in its last place.
func printed(t *testing.T, text string) (value, place float64) {
	t.Helper()
	value, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	_, decimals, _ := strings.Cut(text, ".")
	return value, math.Pow10(-len(decimals))
}

// TestDocumentedNoise: in each row of the table of noise multipliers in docs/PRIVACY.md, the printed
// multiplier keeps to the row's epsilon, and one in its last place less does not. Lemma 1's own numbers are
// rounded to the nearest.
func TestDocumentedNoise(t *testing.T) {
	page, err := os.ReadFile("../../docs/PRIVACY.md")
	require.NoError(t, err)
	const number = ` ([0-9.]+) `
	rows := regexp.MustCompile(`(?m)^\| ([0-9]+), ([0-9.]+) \|`+number+`\|`+number+`\|`+number+`\| ([0-9.]+) `+
		`\(([0-9.]+); ([0-9.]+)\) \|`+number+`\|`+number+`\|$`).FindAllStringSubmatch(string(page), -1)
	begun := regexp.MustCompile(`(?m)^\| [0-9]+, [0-9.]+ \|`).FindAllString(string(page), -1)
	require.NotEmpty(t, rows)
	require.Len(t, rows, len(begun), "a row of another form")
	const rate, delta = 1. / 30, 1e-6
	for _, row := range rows {
		rounds, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		epsilon, _ := printed(t, row[2])
		for i, by := range []struct {
			method Method
			q      float64
		}{{RDP, rate}, {PLD, rate}, {Analytic, 1}} {
			z, place := printed(t, row[3+i])
			require.LessOrEqual(t, epsilonOf(t, by.method, delta, steps(by.q, z, rounds)), epsilon, "%s: %s", by.method, row[0])
			require.Greater(t, epsilonOf(t, by.method, delta, steps(by.q, z-place, rounds)), epsilon, "%s: %s", by.method,
				row[0])
		}
		l := Lemma1{Sensitivity: 1, LearningRate: 0.01, Rounds: rounds, Epsilon: epsilon, Delta: delta}
		c, err := l.Calibrate(rate)
		require.NoError(t, err)
		plain, err := l.Calibrate(1)
		require.NoError(t, err)
		without := c.NoiseMultiplier / l.LearningRate
		for i, want := range []float64{c.NoiseMultiplier, c.Epsilon, plain.Epsilon, without,
			without / noiseOf(t, RDP, rate, rounds, epsilon, delta)} {
			value, place := printed(t, row[6+i])
			require.InDelta(t, want, value, place/2*(1+1e-9), "%s", row[0])
		}
	}
}
