package chainview

import (
	"context"
	"crypto/ed25519"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// TestTitles: what a proposal proposes, with names and not numbers.
func TestTitles(t *testing.T) {
	names := map[string]string{"0": "alice (#0)", "2": "carol (#2)"}
	about := func(subject string) app.Description {
		return app.Description{Attributes: []app.Attribute{{Key: "subject", Value: subject}, {Key: "epoch", Value: "3"},
			{Key: "name", Value: "v6"}, {Key: "moniker", Value: "dave"}}}
	}
	for kind, want := range map[tx.Kind]string{
		tx.KindRemove: "Remove carol (#2)", tx.KindRestore: "Restore the reputation of carol (#2)",
		tx.KindRotate: "alice (#0) replaces keys or nodes", tx.KindStartEpoch: "Start epoch 3",
		tx.KindUpgrade: "Cancel the upgrade v6", tx.KindJoin: "Admit dave",
	} {
		require.Equal(t, want, titleOf(kind, about("2"), names))
	}
	require.Equal(t, "alice (#0) leaves", titleOf(tx.KindRemove, about("0"), names))
}

// TestWhyDropped: another epoch that opened and a proposer that left are told from a lack of approvals.
func TestWhyDropped(t *testing.T) {
	proposer := uint32(1)
	epoch := Proposal{Kind: "start-epoch", epoch: "2", proposer: &proposer}
	m := query.Membership{Members: []query.Member{{Index: 0}, {Index: 1, Active: true}}}
	epochs := []query.EpochState{{Epoch: 0}, {Epoch: 1}}
	require.Empty(t, epoch.whyDropped(m, epochs))
	require.Empty(t, Proposal{}.whyDropped(m, epochs))
	require.Equal(t, "another proposal opened epoch 2", epoch.whyDropped(m, append(epochs, query.EpochState{Epoch: 2})))
	m.Members[1].Active = false
	require.Equal(t, "its proposer has left", epoch.whyDropped(m, epochs))
}

// TestCount: votes count in the order of the chain, whatever the order of the index's answer.
func TestCount(t *testing.T) {
	b := &ballot{titles: map[string]string{}, last: map[string]int64{}, approvals: map[string][]uint32{}}
	vote := func(height int64, index uint32, body tx.Body) *ctypes.ResultTx {
		x, err := tx.Sign("c", body, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
		require.NoError(t, err)
		return &ctypes.ResultTx{Height: height, Index: index, Tx: x.Raw}
	}
	id := []byte{0xab}
	approve := func(i uint32, revocations uint64) tx.Body {
		return &tx.Approve{Participant: i, Proposal: id, Revocations: revocations}
	}
	b.count([]*ctypes.ResultTx{vote(9, 0, &tx.Withdraw{Participant: 2, Proposal: id}), vote(7, 1, approve(1, 1)),
		vote(7, 0, &tx.Withdraw{Participant: 1, Proposal: id}), vote(5, 1, approve(2, 0)), vote(5, 0, approve(1, 0)),
		{Height: 6, Tx: []byte("junk")}}, nil)
	require.Equal(t, []uint32{1}, b.approvals["ab"])
	require.EqualValues(t, 9, b.last["ab"], "the chain may have ended it there")
}

// TestDecide: a proposal that was found nowhere is dropped where all round boundaries are known. Where they are not,
// one with enough approvals may have been enacted at another.
func TestDecide(t *testing.T) {
	b := &ballot{past: []Proposal{{ID: "ab", Height: 3}}, approvals: map[string][]uint32{"ab": {0, 1}}}
	decide := func(threshold int, boundaries []int64) string {
		all := b.decide(query.Membership{Threshold: threshold}, []query.EpochState{{Opened: 9}}, 20, boundaries,
			boundaries != nil,
			func(_ string, heights []int64) Outcome {
				require.Contains(t, heights, int64(8), "the block before an epoch")
				return Outcome{State: Dropped}
			})
		require.Len(t, all, 1)
		require.Equal(t, []uint32{0, 1}, all[0].Approvals)
		return all[0].Outcome.State
	}
	require.Equal(t, Unknown, decide(2, nil))
	require.Equal(t, Dropped, decide(3, nil))
	require.Equal(t, Dropped, decide(2, []int64{5}))
}

// ending is a node whose block of a height ends proposals.
type ending struct {
	RPC
	height int64
	asked  int
}

func (n *ending) BlockResults(_ context.Context, height *int64) (*ctypes.ResultBlockResults, error) {
	n.asked++
	r := &ctypes.ResultBlockResults{}
	if *height != n.height {
		return r, nil
	}
	for id, why := range map[string]string{"good": "", "bad": "M6: too few"} {
		r.FinalizeBlockEvents = append(r.FinalizeBlockEvents, abcitypes.Event{Type: "enactment",
			Attributes: []abcitypes.EventAttribute{{Key: "proposal", Value: id}, {Key: "refused", Value: why}}})
	}
	for id, cause := range map[string]string{"back": "withdrawn", "late": "expired"} {
		r.FinalizeBlockEvents = append(r.FinalizeBlockEvents, abcitypes.Event{Type: "discard",
			Attributes: []abcitypes.EventAttribute{{Key: "proposal", Value: id}, {Key: "cause", Value: cause}}})
	}
	return r, nil
}

// TestOutcomes: the end of a proposal is found at a boundary, however much later that is, and asked
// for once.
func TestOutcomes(t *testing.T) {
	n := &ending{height: 50}
	r := New(nil, n, Options{}).Reader(t.Context())
	heights := (&ballot{}).heights(Proposal{Height: 10}, 60, []int64{5, 20, 50, 80})
	require.Equal(t, []int64{10, 11, 12, 13, 14, 15, 16, 17, 20, 50}, heights)
	for id, want := range map[string]Outcome{"good": {State: "enacted", At: 50},
		"bad": {State: "rejected", At: 50, Why: "too few (M6)"}, "back": {State: "withdrawn", At: 50},
		"late": {State: "expired", At: 50}, "other": {State: "dropped"}} {
		require.Equal(t, want, r.outcome(id, heights))
	}
	asked := n.asked
	require.Equal(t, "enacted", r.outcome("good", heights).State)
	require.Equal(t, asked, n.asked)

	late := (&ballot{}).heights(Proposal{Height: 10}, 10+app.Lifetime, nil)
	require.EqualValues(t, 10+app.Lifetime, late[len(late)-1], "the block in which it expires")
}
