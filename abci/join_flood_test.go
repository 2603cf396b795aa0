package abci_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestCrowdOfJoins: k strangers send 67 valid Joins a second each. A node verifies one Join a
// second from all of them together. A block carries two Joins after the round, and the round
// closes. A newcomer whose Join the flood keeps out joins through a member's approval.
func TestCrowdOfJoins(t *testing.T) {
	const seconds = 3
	for _, k := range []int{1, 3, 10, 40} {
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
