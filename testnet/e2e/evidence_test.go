//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/tmhash"
	"github.com/cometbft/cometbft/privval"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet"
)

// against returns pieces of evidence that node i's validator signs against itself: two prevotes of
// one past height in each of n consensus rounds. Each is valid.
func (n *net) against(i, count int) []types.Evidence {
	n.Helper()
	ctx, home := context.Background(), n.Net.Nodes[i].Home
	pv := privval.LoadFilePVEmptyState(filepath.Join(home, "config", "priv_validator_key.json"), "")
	status, err := n.clients[0].RPC().Status(ctx)
	require.NoError(n, err)
	height := status.SyncInfo.LatestBlockHeight - 1
	header, err := n.clients[0].RPC().Header(ctx, &height)
	require.NoError(n, err)
	validators, err := n.clients[0].RPC().Validators(ctx, &height, nil, nil)
	require.NoError(n, err)
	set := types.NewValidatorSet(validators.Validators)
	index, _ := set.GetByAddress(pv.Key.Address)
	vote := func(round int, block string) *types.Vote {
		v := &types.Vote{
			Type: cmtproto.PrevoteType, Height: height, Round: int32(round), Timestamp: header.Header.Time,
			ValidatorAddress: pv.Key.Address, ValidatorIndex: index,
			BlockID: types.BlockID{Hash: tmhash.Sum([]byte(block)), PartSetHeader: types.PartSetHeader{Total: 1,
				Hash: tmhash.Sum([]byte(block))}},
		}
		v.Signature, err = pv.Key.PrivKey.Sign(types.VoteSignBytes(header.Header.ChainID, v.ToProto()))
		require.NoError(n, err)
		return v
	}
	all := make([]types.Evidence, count)
	for round := range all {
		all[round], err = types.NewDuplicateVoteEvidence(vote(round, "a"), vote(round, "b"), header.Header.Time, set)
		require.NoError(n, err)
	}
	return all
}

// TestEvidenceFlood: one validator gives everybody's RPC all evidence that it can sign against
// itself. Each node takes at most one piece. The validator is convicted once, and rounds close
// during the flood and after it. SPDL_TEST_EVIDENCE sets the number of pieces.
func TestEvidenceFlood(t *testing.T) {
	pieces := 3000
	if set := os.Getenv("SPDL_TEST_EVIDENCE"); set != "" {
		var err error
		pieces, err = strconv.Atoi(set)
		require.NoError(t, err)
	}
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(10)
	rate := func() float64 { // for who reads the log
		from, begin := n.open(0), time.Now()
		time.Sleep(3 * time.Second)
		return float64(n.open(0)-from) / time.Since(begin).Seconds()
	}
	before := rate()
	all := n.against(3, pieces)
	var next, accepted atomic.Int64
	var wg sync.WaitGroup
	from, begin := n.open(0), time.Now()
	for k := range 12 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(len(all)); i = next.Add(1) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if _, err := n.clients[k%len(n.clients)].RPC().BroadcastEvidence(ctx, all[i-1]); err == nil {
					accepted.Add(1)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	until := n.open(0)
	t.Logf("%.1f rounds a second before; %d pieces, %d accepted in %v, during them %.1f", before, pieces, accepted.Load(),
		took.Round(time.Millisecond), float64(until-from)/took.Seconds())
	t.Logf("after: %.1f rounds a second", rate())
	n.alive()
	require.Positive(t, accepted.Load())
	require.LessOrEqual(t, accepted.Load(), int64(len(n.clients)), "pieces taken")
	n.eventually(func() bool { at, ok := n.round(0); return ok && at > until+10 }, "no rounds close after the flood")
	offences, err := n.clients[0].Evidence(context.Background())
	require.NoError(t, err)
	require.Len(t, offences, 1)
	require.EqualValues(t, 3, offences[0].Participant)
	n.sameHashes()
}
