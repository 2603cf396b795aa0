package abci_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
)

// TestCrowdOfJoins: k strangers send 67 valid Joins a second each. A node verifies one Join a
// second from all of them together. A block carries two Joins after the round, and the round
// closes. A newcomer whose Join the flood keeps out joins through a member's approval.
func TestCrowdOfJoins(t *testing.T) {
	const seconds = 3
	for _, k := range stage.Pick([]int{1, 10}, []int{1, 10}, []int{1, 3, 10, 40}) {
		t.Run(fmt.Sprintf("k=%d", k), func(t *testing.T) {
			n := beginTimed(t)
			admitted, offered := 0, 0
			for range seconds {
				n.clock = n.clock.Add(time.Second)
				for range 67 * k {
					offered++
					switch r := n.check(apptest.Join(100 + offered)); r.Code {
					case abci.CodeOK:
						admitted++
					default:
						require.Equal(t, abci.CodePoolFull, r.Code, r.Log)
					}
				}
			}
			require.LessOrEqual(t, admitted, 8+seconds, "of %d", offered)
			require.GreaterOrEqual(t, admitted, 8, "the burst and no less")

			newcomer := apptest.Join(9)
			require.Equal(t, abci.CodePoolFull, n.check(newcomer).Code)
			require.Equal(t, abci.CodeOK, n.check(bring(1, newcomer)).Code)
			n.after(0, 0, 1, 2, 3)
			n.lead()
			kinds := map[tx.Kind]int{}
			block := n.prepare(1)
			for _, raw := range block {
				x, err := tx.Decode(raw)
				require.NoError(t, err)
				kinds[x.Kind()]++
			}
			require.Equal(t, map[tx.Kind]int{tx.KindAggregate: 1, tx.KindGradient: 4, tx.KindJoin: 2, tx.KindApprove: 1}, kinds)
			require.True(t, n.process(1, block))
		})
	}
}

// TestCrowdOfCarriedJoins: a node verifies the Joins in a member's approvals at the rate of those of outsiders,
// whether they are valid or not. Nobody else can use that rate up, neither another member nor, by approvals that
// the member has not signed, a stranger. What carries no Join is not limited.
func TestCrowdOfCarriedJoins(t *testing.T) {
	n := beginTimed(t)
	bad := func(i int) *tx.Tx {
		join := apptest.Join(i).Body.(*tx.Join)
		join.VrfProof[0] ^= 1
		return apptest.Sign(i, join)
	}
	codes := map[uint32]int{}
	for i := range 100 {
		codes[n.check(bring(3, bad(100+i))).Code]++
		id := bad(100 + i).ID()
		forged := &tx.Approve{Participant: 1, Proposal: id[:], Join: bad(100 + i).Raw}
		require.Equal(t, abci.CodeSignature, n.check(apptest.Sign(3, forged)).Code)
	}
	require.Equal(t, map[uint32]int{abci.CodeIdentity: 8, abci.CodePoolFull: 92}, codes)
	newcomer := apptest.Join(9)
	r := n.check(bring(3, newcomer))
	require.Contains(t, r.Log, "more than 1 joins a second of the approvals of participant 3")
	require.Equal(t, abci.CodeOK, n.check(bring(1, newcomer)).Code)
	n.clock = n.clock.Add(time.Second)
	require.Equal(t, abci.CodeOK, n.check(bring(3, newcomer)).Code)
}
