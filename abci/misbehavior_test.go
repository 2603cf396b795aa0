package abci_test

import (
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
)

// TestDoubleVoteReachesTheParticipant: evidence in FinalizeBlock becomes an event and an offence of
// its participant, even if the node has cached the block's outcome without the evidence.
func TestDoubleVoteReachesTheParticipant(t *testing.T) {
	for _, proposed := range []bool{false, true} {
		n := begin(t, 4)
		if proposed {
			_, err := n.ProcessProposal(ctx, &abcitypes.RequestProcessProposal{Height: 1})
			require.NoError(t, err)
		}
		before := n.State().Hash()
		r, err := n.FinalizeBlock(ctx, &abcitypes.RequestFinalizeBlock{Height: 1, Misbehavior: []abcitypes.Misbehavior{{
			Type:      abcitypes.MisbehaviorType_DUPLICATE_VOTE,
			Validator: abcitypes.Validator{Address: ed25519.PubKey(apptest.ConsensusKey(3)).Address(), Power: 10}, Height: 1,
			TotalVotingPower: 40,
		}}})
		require.NoError(t, err)
		n.commit()
		require.Len(t, r.Events, 1)
		require.Equal(t, "offence", r.Events[0].Type)
		require.NotEqual(t, before, n.State().Hash())
		require.Zero(t, n.State().Participants[3].Reputation)
		require.EqualValues(t, 3, n.State().Offences[0].Participant)
	}
}
