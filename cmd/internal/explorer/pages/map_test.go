package pages

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestNamesDoNotCover: wherever the points are, a name covers neither another name nor a point, and
// one with room stays beside its point.
func TestNamesDoNotCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []mapPoint
		for i := range rapid.IntRange(1, 30).Draw(t, "points") {
			points = append(points, mapPoint{Name: fmt.Sprintf("#%d organisation", i),
				X: float64(rapid.IntRange(20, 550).Draw(t, "x")), Y: float64(rapid.IntRange(20, 300).Draw(t, "y"))})
		}
		lowest := spread(points)
		for i, p := range points {
			name := p.label(p.NameX, p.NameY)
			require.GreaterOrEqual(t, name.left, 0.0)
			require.LessOrEqual(t, p.NameY, lowest)
			for j, q := range points {
				require.False(t, name.meets(box{q.X - 8, q.Y - 8, q.X + 8, q.Y + 8}), "%+v covers the point %+v", p, q)
				require.True(t, i == j || !name.meets(q.label(q.NameX, q.NameY)), "%+v covers the name of %+v", p, q)
			}
		}
	})
	alone := []mapPoint{{Name: "#1", X: 50, Y: 50}, {Name: "#2", X: 300, Y: 50}}
	spread(alone)
	require.Equal(t, []any{62.0, 54.0, false, false}, []any{alone[0].NameX, alone[0].NameY, alone[0].Below(),
		alone[1].Below()})
}
