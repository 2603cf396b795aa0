//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// TestByzantineNodes: of seven nodes one leads with wrong aggregates and one is
// silent. Fifty rounds close all the same, with the accuracy of the clean run;
// each bad leadership stands in the record of its round, as a view above 0 whose
// ranking begins with the culprit, and costs view_blocks heights.
func TestByzantineNodes(t *testing.T) {
	const wrong, silent = 2, 5
	// An honest leader is passed over, and a gradient left out, by nodes that waited
	// long enough for it: longer here than a localnet's, for machines that are busy.
	t.Setenv("SPDL_PROPOSAL_WAIT", "2s")
	t.Setenv("SPDL_PROPOSAL_STRAGGLER_WAIT", "300ms")
	t.Setenv("CMT_CONSENSUS_TIMEOUT_PROPOSE", "4s")
	train := func(name string, attacks ...testnet.Attack) (accuracy float64, records []app.Record) {
		m := testnet.Manifest{Validators: 7, Rounds: 50, Attacks: attacks, Home: filepath.Join(t.TempDir(), name)}
		made, err := testnet.Init(m)
		require.NoError(t, err)
		p, err := testnet.StartProcesses(made, binary)
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Stop()) }()
		e, err := made.Evaluator(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		require.NoError(t, testnet.Follow(ctx, made, e, func(r testnet.Round) error {
			accuracy = *r.TestAccuracy
			return nil
		}))
		n := clients(t, made)
		for round := range uint64(50) {
			var r app.Record
			for err := context.DeadlineExceeded; err != nil; { // another node than the first may have been followed
				require.NoError(t, ctx.Err(), "node 0 does not close round %d", round)
				if r, err = n[0].Round(ctx, round); err != nil {
					time.Sleep(50 * time.Millisecond)
				}
			}
			records = append(records, r)
		}
		return accuracy, records
	}
	clean, _ := train("clean")
	hurt, records := train("hurt", testnet.Attack{Node: wrong, Kind: "wrong-aggregate"},
		testnet.Attack{Node: silent, Kind: "silent"})
	var good, bad, goodHeights, badHeights int
	for _, r := range records {
		require.NotEqual(t, uint32(wrong), r.Leader)
		require.Len(t, r.Contributions, 6)
		took := int(r.Height - r.Opened + 1)
		if len(r.Ranking) > 0 && (r.Ranking[0] == wrong || r.Ranking[0] == silent) {
			require.Positive(t, r.View, "round %d", r.Round)
			bad++
			badHeights += took
		} else {
			require.Zero(t, r.View, "round %d: its leader is honest", r.Round)
			good++
			goodHeights += took
		}
	}
	require.Positive(t, bad)
	extra := float64(badHeights)/float64(bad) - float64(goodHeights)/float64(good)
	t.Logf("accuracy %.4f clean, %.4f with two Byzantine of seven; %d of 50 leaders bad, each cost %.2f heights more "+
		"than the %.2f of a good one",
		clean, hurt, bad, extra, float64(goodHeights)/float64(good))
	require.InDelta(t, clean, hurt, 0.01)
}
