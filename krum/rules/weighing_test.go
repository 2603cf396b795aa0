package rules

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

// TestWeighing: the score of a rule that is named in weighing is how far a weight is below an equal share. A gradient
// that stands out has less than half of that share, and the others have more.
func TestWeighing(t *testing.T) {
	require.False(t, Weighs("median"))
	defer func(before []string) { weighing = before }(weighing)
	weighing = append(weighing[:len(weighing):len(weighing)], "median")
	require.True(t, Weighs("median"), "queries know a rule by this list alone")
	weighing = weighing[:len(weighing)-1]
	const n, d = 5, 400
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range weighing {
		in := Input{N: n, F: 1, Floor: 2 * 100 * d}
		for i := range n {
			v := gradients.NewVector(gradients.Int16, d)
			for j := range d {
				v.Set(j, int64(10*random.NormFloat64()))
				if i == 3 {
					v.Set(j, 300)
				}
			}
			in.Vectors = append(in.Vectors, v)
		}
		rule, err := Lookup(name)
		require.NoError(t, err)
		out, err := rule.Aggregate(in)
		require.NoError(t, err)
		equal := int64(1 << weightBits / n)
		require.Greater(t, out.Score[3], equal/2, name)
		for i, s := range out.Score {
			require.True(t, 0 <= s && s <= equal, "%s: score %d of gradient %d", name, s, i)
			require.True(t, i == 3 || s < equal/2, "%s: score %d of gradient %d", name, s, i)
		}
	}
}
