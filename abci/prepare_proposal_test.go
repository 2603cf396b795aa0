package abci_test

import (
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// judged returns the number of executed rounds in the metrics.
func judged(t *testing.T, r prometheus.Gatherer) uint64 {
	t.Helper()
	return count(t, r, "spdl_execute_seconds")
}

// count returns the number of observations of a histogram.
func count(t *testing.T, r prometheus.Gatherer, histogram string) uint64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == histogram {
			return f.Metric[0].Histogram.GetSampleCount()
		}
	}
	return 0
}

// TestRoundIsRunOnceWithOperations: a proposer runs the rule once for its block, whatever
// operations it adds to the round. Its vote for the block uses that result, and so does its vote
// for another block with the same round if the first proposal fails.
func TestRoundIsRunOnceWithOperations(t *testing.T) {
	const members = 4
	join, other := apptest.Join(members), apptest.Join(members+1)
	for name, operations := range map[string][]*tx.Tx{"none": nil, "a Join": {join}, "two": {join, other}} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			a, err := abci.New(abci.Options{ProposalWait: 30 * time.Second, Metrics: metrics.New(registry, apptest.ChainID)})
			require.NoError(t, err)
			n := &node{Application: a, t: t}
			n.init(members)
			for _, x := range append(apptest.Close(n.State(), 1), operations...) {
				require.Equal(t, abci.CodeOK, n.check(x).Code)
			}
			block := n.prepare(1)
			require.Len(t, block, 1+members+len(operations))
			require.True(t, n.process(1, block))
			require.True(t, n.process(1, block[:1+members]), "the round alone")
			require.EqualValues(t, 1, judged(t, registry))

			apart := begin(t, members) // a node that runs this block and nothing before
			require.Equal(t, apart.finalize(1, block), n.finalize(1, block))
			require.EqualValues(t, 1, judged(t, registry))
		})
	}
}

// BenchmarkPrepareProposal measures the work of a proposer that has the whole round, without and
// with a waiting Join.
func BenchmarkPrepareProposal(b *testing.B) {
	const members = 40
	larger := func(p *params.Params) { p.Model.Inputs, p.Rule.Name = 10_000, "nnm+trimmed-mean" }
	round := apptest.Close(apptest.State(members, larger), 1)
	genesis, err := apptest.Genesis(members, apptest.Params(members, larger)).Encode()
	require.NoError(b, err)
	for name, pending := range map[string][]*tx.Tx{"round": round, "round+join": append(round[:len(round):len(round)],
		apptest.Join(members))} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				a, err := abci.New(abci.Options{ProposalWait: 30 * time.Second})
				require.NoError(b, err)
				_, err = a.InitChain(ctx, &abcitypes.RequestInitChain{ChainId: apptest.ChainID, InitialHeight: 1,
					AppStateBytes: genesis})
				require.NoError(b, err)
				for _, x := range pending {
					_, err = a.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: x.Raw})
					require.NoError(b, err)
				}
				b.StartTimer()
				r, err := a.PrepareProposal(ctx, &abcitypes.RequestPrepareProposal{Height: 1, MaxTxBytes: 1 << 26})
				require.NoError(b, err)
				require.Len(b, r.Txs, len(pending))
			}
		})
	}
}
