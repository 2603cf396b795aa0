package abci_test

import (
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	dbm "github.com/cometbft/cometbft-db"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// refusals queries the rejections of a path.
func (n *node) refusals(path string) (out []query.Rejection) {
	n.t.Helper()
	n.answer(path, &out)
	return out
}

// TestRefusalsAreCountedAndNameTheSigner: a node counts the gradients that it did not admit, and
// distinguishes gradients that the member signed from gradients that anyone may have sent in the
// member's name. It does not count gradients in the name of a non-member or of another round.
func TestRefusalsAreCountedAndNameTheSigner(t *testing.T) {
	n := begin(t, 4)
	require.Empty(t, n.refusals("/refusals"))
	short := func(participant uint32, round uint64, key int) *tx.Tx {
		g := *apptest.Gradient(n.State(), 0).Gradient
		g.Participant, g.Round, g.Payload = participant, round, g.Payload[1:]
		return apptest.Sign(key, &g)
	}
	require.Equal(t, abci.CodePayload, n.check(short(2, 0, 2)).Code)
	require.Equal(t, abci.CodePayload, n.check(short(2, 0, 3)).Code,
		"forged, and refused before its signature is looked at")
	require.Equal(t, abci.CodePayload, n.check(short(3, 0, 1)).Code)
	forged := *apptest.Gradient(n.State(), 1).Gradient
	require.Equal(t, abci.CodeSignature, n.check(apptest.Sign(2, &forged)).Code)
	require.NotZero(t, n.check(short(9, 0, 2)).Code)
	require.NotZero(t, n.check(short(2, 1, 2)).Code)
	require.Zero(t, n.check(apptest.Gradient(n.State(), 0)).Code)

	all := n.refusals("/refusals")
	require.Len(t, all, 3)
	for i := range all {
		require.NotEmpty(t, all[i].Log)
		all[i].Log = ""
	}
	require.Equal(t, []query.Rejection{
		{Participant: 1, Reason: "signature", Count: 1},
		{Participant: 2, Reason: "payload", Count: 2, Signed: true},
		{Participant: 3, Reason: "payload", Count: 1},
	}, all)
	require.Len(t, n.refusals("/refusals/0"), 3)
	require.Empty(t, n.refusals("/refusals/0/7"))
}

// TestRefusalSaysWhatWasSigned: if a member signed one of several rejected gradients in its name,
// the reason is the reason for the signed gradient, not for an earlier unsigned gradient.
func TestRefusalSaysWhatWasSigned(t *testing.T) {
	n := begin(t, 4)
	for key, cut := range []int{1, 0, 2} { // forged, forged, signed
		g := *apptest.Gradient(n.State(), 2).Gradient
		g.Payload = g.Payload[:len(g.Payload)-1-cut]
		require.Equal(t, abci.CodePayload, n.check(apptest.Sign(key, &g)).Code)
	}
	g := *apptest.Gradient(n.State(), 2).Gradient
	_, err := gradients.Decode(n.State().Grid().Width, len(n.State().Model), g.Payload[:len(g.Payload)-3])
	require.Error(t, err)
	all := n.refusals("/refusals")
	require.Len(t, all, 1)
	require.True(t, all[0].Signed)
	require.Contains(t, all[0].Log, err.Error())
}

// TestRefusalsAreBounded: the memory for rejected gradients is bounded.
func TestRefusalsAreBounded(t *testing.T) {
	n := begin(t, 4)
	g := *apptest.Gradient(n.State(), 0).Gradient
	for i := range 100 {
		g.Payload = append(make([]byte, len(g.Payload[:3])-1), byte(i))
		n.check(apptest.Sign(i%4, &g))
	}
	all := n.refusals("/refusals")
	require.Len(t, all, 1)
	require.Equal(t, uint64(100), all[0].Count)
}

// TestAMisbehavingNodeGossipsWhatItRefuses: the mempool of a misbehaving node takes a gradient that
// the application rejects, and the application keeps it out of its pool and its proposals.
func TestAMisbehavingNodeGossipsWhatItRefuses(t *testing.T) {
	a, err := abci.New(abci.Options{DB: dbm.NewMemDB(), ChainID: apptest.ChainID, ProposalWait: 30e6, StragglerWait: 10e6,
		GossipRefused: true})
	require.NoError(t, err)
	n := &node{Application: a, t: t}
	n.init(4)
	g := *apptest.Gradient(n.State(), 0).Gradient
	g.Payload = g.Payload[1:]
	bad := apptest.Sign(0, &g)
	require.Zero(t, n.check(bad).Code)
	require.Len(t, n.refusals("/refusals"), 1)
	require.Empty(t, n.prepare(1))
	r, err := n.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: bad.Raw, Type: abcitypes.CheckTxType_Recheck})
	require.NoError(t, err)
	require.Equal(t, abci.CodePayload, r.Code, "a recheck drops it")
}
