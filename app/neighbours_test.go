package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// TestNeighbours: with four participants Krum's neighbour of each gradient is the nearest other
// gradient. A rule without neighbours gives none, and a block without a round is an error.
func TestNeighbours(t *testing.T) {
	for _, rule := range []string{"krum", "median"} {
		s := apptest.State(4, func(p *params.Params) { p.Rule.Name = rule })
		block := app.Block{Height: 1, Txs: apptest.Close(s, 1, apptest.Indices(4)...)}
		var vectors []gradients.Vector
		for _, gradient := range block.Txs[1:] {
			v, err := gradients.Decode(s.Grid().Width, len(s.Model), gradient.Gradient.Payload)
			require.NoError(t, err)
			vectors = append(vectors, v)
		}
		distances := gradients.Pairwise(vectors)
		var want []app.Neighbours
		for i := range uint32(4) {
			n := app.Neighbours{Participant: i, Of: []uint32{}}
			if rule == "krum" {
				nearest := (i + 1) % 4
				for j := range uint32(4) {
					if d := distances.At(int(i), int(j)); j != i && (d < distances.At(int(i), int(nearest)) ||
						d == distances.At(int(i), int(nearest)) && j < nearest) {
						nearest = j
					}
				}
				n.Of = append(n.Of, nearest)
			}
			want = append(want, n)
		}
		got, err := s.Neighbours(block)
		require.NoError(t, err)
		require.Equal(t, want, got, rule)
		_, err = s.Neighbours(app.Block{Height: 1})
		require.EqualError(t, err, "block 1 closes no round")
	}
}
