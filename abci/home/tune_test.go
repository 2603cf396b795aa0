package home

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

// TestWaitsGrowWithRounds: the timeouts grow with the numbers of model parameters and participants,
// and keep their order. The given configuration is not changed, because it is written back to
// files.
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
	carried := func(g app.Genesis) time.Duration { return limit.TransferTime(g.Params, g.Participants) }
	require.InDelta(t, 640, carried(of(1258, 4, 4)).Milliseconds(), 1)
	require.InDelta(t, 4000, carried(of(1258, 10, 10)).Milliseconds(), 2)
	require.InDelta(t, 640, carried(of(126, 40, 4)).Milliseconds(), 5, "workers without a node of their own carry nothing")
	require.Less(t, carried(of(9, 4, 4)), 6*time.Millisecond)

	c, a := DefaultConfig(), DefaultAppConfig()
	fitted, b := Tune(c, a, of(1258, 4, 4))
	require.Equal(t, DefaultConfig().Consensus, c.Consensus)
	require.Greater(t, b.Proposal.Wait.Duration, a.Proposal.Wait.Duration)
	require.Greater(t, b.Proposal.StragglerWait.Duration, a.Proposal.StragglerWait.Duration)
	require.Less(t, b.Proposal.Wait.Duration, fitted.Consensus.TimeoutPropose)
	require.Greater(t, fitted.Consensus.TimeoutPrevote, c.Consensus.TimeoutPrevote)
}

// TestSizesFollowGenesis: for models of one and two million parameters and 4 to 100 participants,
// genesis and a node's configuration hold a round without manual tuning. If no block can hold a
// round, the genesis is rejected with the size of a round and CometBFT's bound.
func TestSizesFollowGenesis(t *testing.T) {
	of := func(d, width uint32, tolerance int64) params.Params {
		p := apptest.Params(4)
		p.Grid.Width, p.Rule.Tolerance = width, tolerance
		p.Model = params.Model{Kind: params.ModelExternal, Clipping: params.ClippingSum,
			Tensors: []params.Tensor{{Name: "w", Shape: []uint32{d}, Init: params.InitZeros}}}
		return p
	}
	for _, c := range []struct {
		d, width  uint32
		tolerance int64
		most      int // maximum number of participants
	}{
		{1_000_000, 1, 0, 80}, {1_000_000, 2, 0, 40}, {1_000_000, 1, 1, 72},
		{1 << 21, 1, 0, 38}, {1 << 21, 2, 0, 19}, {1 << 21, 2, 1, 15},
	} {
		p := of(c.d, c.width, c.tolerance)
		for _, n := range []int{4, 10, 15, 16, 19, 20, 38, 39, 40, 41, 72, 73, 80, 81, 100} {
			err := p.CheckBlock(n)
			require.Equal(t, n <= c.most, err == nil, "%+v, N=%d: %v", c, n, err)
			if err != nil {
				require.ErrorContains(t, err, fmt.Sprintf("takes blocks of %d bytes, CometBFT's bound is 104857600",
					p.BlockBytes(n)))
				continue
			}
			fitted, a := DefaultsFor(p, n, n)
			require.NoError(t, fitted.ValidateBasic())
			require.NoError(t, a.Validate())
			require.LessOrEqual(t, p.TxBytes(n), int64(fitted.Mempool.MaxTxBytes))
			require.LessOrEqual(t, p.TxBytes(n)*4/3, fitted.RPC.MaxBodyBytes)
			require.LessOrEqual(t, 2*p.RoundBytes(n), fitted.Mempool.MaxTxsBytes)
			require.LessOrEqual(t, 2*p.RoundBytes(n), a.Pool.MaxBytes, "a round and the next")
			require.Less(t, a.Proposal.Wait.Duration, fitted.Consensus.TimeoutPropose)
			require.Less(t, float64(p.RoundBytes(n)*int64(n))/float64(fitted.P2P.SendRate),
				fitted.Consensus.TimeoutPropose.Seconds())
			require.Less(t, float64(p.RoundBytes(n))/float64(fitted.P2P.RecvRate), fitted.Consensus.TimeoutPropose.Seconds())
		}
	}

	c := DefaultConfig()
	fitted := TuneSizes(c, of(1<<21, 2, 1), 15)
	require.Greater(t, fitted.Mempool.MaxTxBytes, 16<<20, "an aggregate with its vector")
	require.Equal(t, DefaultConfig().Mempool, c.Mempool)
	require.Equal(t, DefaultConfig().RPC, c.RPC)
	c.Mempool.MaxTxBytes = 64 << 20
	require.Equal(t, 64<<20, TuneSizes(c, of(1<<21, 2, 1), 15).Mempool.MaxTxBytes, "what the file says is enough")
}
