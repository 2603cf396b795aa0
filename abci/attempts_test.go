package abci_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// TestAttemptsSayWhyALeaderWasPassedOver: a node that saw an aggregate with a wrong digest reports
// that digest and the correct digest, whether or not it had recomputed Delta for a proposal. If it
// saw no wrong aggregate, the list is empty. For a round that it did not see, the result code is
// CodeNotFound.
func TestAttemptsSayWhyALeaderWasPassedOver(t *testing.T) {
	for name, proposes := range map[string]bool{"proposer": true, "validator": false} {
		t.Run(name, func(t *testing.T) {
			n := begin(t, 4)
			s := apptest.State(4)
			block := apptest.Close(s, 1)
			wrong := *block[0].Aggregate
			wrong.Digest = make([]byte, 32)
			for _, x := range append([]*tx.Tx{apptest.Sign(int(wrong.Leader), &wrong)}, block[1:]...) {
				require.Equal(t, abci.CodeOK, n.check(x).Code)
			}
			opens := int64(apptest.Opens(s, 1))
			for height := int64(1); height < opens; height++ {
				n.finalize(height, nil)
				n.commit()
			}
			second := s.Progress.Ranking[1]
			a, err := n.Draft(second)
			require.NoError(t, err)
			right := apptest.Sign(int(second), a)
			require.Equal(t, abci.CodeOK, n.check(right).Code)
			closes := raws(append([]*tx.Tx{right}, block[1:]...))
			if proposes {
				closes = n.prepare(opens)
			}
			n.finalize(opens, closes)
			n.commit()
			var list []query.Attempt
			n.answer("/attempts/0", &list)
			require.Len(t, list, 1)
			require.Equal(t, wrong.Leader, list[0].Leader)
			require.Equal(t, hex.EncodeToString(wrong.Digest), list[0].Digest)
			require.Equal(t, hex.EncodeToString(block[0].Aggregate.Digest), list[0].Recomputed)
			require.Equal(t, proposes, list[0].Log != "")

			n.finalize(opens+1, raws(apptest.Close(n.State(), uint64(opens+1))))
			n.commit()
			n.answer("/attempts/0/1", &list)
			require.Empty(t, list)
			r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: "/attempts/2"})
			require.NoError(t, err)
			require.Equal(t, abci.CodeNotFound, r.Code)
		})
	}
}

// answer queries a path that must have an answer.
func (n *node) answer(path string, to any) {
	n.t.Helper()
	r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: path})
	require.NoError(n.t, err)
	require.Zero(n.t, r.Code, r.Log)
	require.NoError(n.t, json.Unmarshal(r.Value, to))
}

// TestARejectedNormHasItsBounds: the answer has the norm of the rejected gradient and the bounds
// for clipped gradients with noise, in grid steps.
func TestARejectedNormHasItsBounds(t *testing.T) {
	n := begin(t, 4, apptest.Noisy)
	s := n.State()
	v := gradients.NewVector(s.Grid().Width, len(s.Model))
	v.Set(0, 3)
	v.Set(1, 4)
	require.Equal(t, abci.CodeNorm, n.check(apptest.Sign(1, &tx.Gradient{Participant: 1, Payload: v.Encode(),
		VrfProof: apptest.Proof(s, 1)})).Code)
	all := n.refusals("/refusals")
	require.Len(t, all, 1)
	require.Equal(t, 5.0, all[0].Norm)
	least, greatest := s.Params.Noise().Bounds(1, 1)
	require.InDelta(t, float64(least), all[0].MinNorm*all[0].MinNorm, 1e-3)
	require.InDelta(t, float64(greatest), all[0].MaxNorm*all[0].MaxNorm, 1)
}
