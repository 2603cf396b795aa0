package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

// TestWaitsGrowWithRounds: the waits follow d and N, stay in their order, and what was given is not
// changed, because it is written back to files.
func TestWaitsGrowWithRounds(t *testing.T) {
	of := func(hidden uint32, n, validators int) app.Genesis {
		p := apptest.Params(n)
		p.Grid.Width = 2
		p.Model = params.Model{Kind: params.ModelMLP, Inputs: 784, Hidden: hidden, Classes: 10, Pool: 1, PixelScale: 255}
		g := apptest.Genesis(n, p)
		for i := range g.Participants {
			if g.Participants[i].ConsensusKey = nil; i < validators {
				g.Participants[i].ConsensusKey = make([]byte, 32)
			}
		}
		return g
	}
	require.InDelta(t, 640, carriage(of(1258, 4, 4)).Milliseconds(), 1)
	require.InDelta(t, 4000, carriage(of(1258, 10, 10)).Milliseconds(), 2)
	require.InDelta(t, 640, carriage(of(126, 40, 4)).Milliseconds(), 5, "workers without a node of their own carry nothing")
	require.Less(t, carriage(of(9, 4, 4)), 6*time.Millisecond)

	c, a := DefaultConfig(), DefaultAppConfig()
	fitted, b := fit(c, a, of(1258, 4, 4))
	require.Equal(t, DefaultConfig().Consensus, c.Consensus)
	require.Greater(t, b.Proposal.Wait, a.Proposal.Wait)
	require.Greater(t, b.Proposal.StragglerWait, a.Proposal.StragglerWait)
	require.Less(t, b.Proposal.Wait, fitted.Consensus.TimeoutPropose)
}
