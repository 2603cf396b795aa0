package chainview

import (
	"context"
	"crypto/ed25519"
	"errors"
	"math"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	cmttypes "github.com/cometbft/cometbft/types"
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

// TestDecided: the end of a proposal is looked for from its last approval on, and a dropped one says why.
func TestDecided(t *testing.T) {
	by := uint32(1)
	b := &ballot{past: []Proposal{{ID: "good", Height: 3}, {ID: "other", proposer: &by}, {ID: "hole", Height: 59}},
		approvals: map[string][]uint32{"good": {0, 1}, "hole": {0}}, last: map[string]int64{"good": 20}}
	n := &ending{height: 23, indexed: true}
	all := New(n, n, Options{}).Reader(t.Context()).decided(b, query.Membership{Members: []query.Member{{Index: 1}},
		Threshold: 1})
	require.Len(t, all, 3)
	require.Equal(t, []uint32{0, 1}, all[0].Approvals)
	require.Equal(t, Outcome{State: Enacted, At: 23}, all[0].Outcome)
	require.Equal(t, 2+4+10+2+4+2, n.asked, "results of blocks 59, 60 and 20 to 23; of ten, and two searches; of the "+
		"last two, twice, and two searches")
	require.Equal(t, Outcome{State: Unknown}, all[2].Outcome, "with enough approvals")
	require.Equal(t, Outcome{State: Dropped, Why: "its proposer has left"}, all[1].Outcome)
}

// ending is a node whose block of a height ends proposals, and whose index may have it.
type ending struct {
	RPC
	height, kept int64 // kept is the first height that the node has
	indexed      bool
	asked        int
}

func (n *ending) Query(_ context.Context, _ string, answer any) error {
	if status, ok := answer.(*query.Status); ok {
		status.Height = 60
	}
	return nil
}

func (n *ending) BlockchainInfo(context.Context, int64, int64) (*ctypes.ResultBlockchainInfo, error) {
	return nil, errors.New("not kept")
}

func (n *ending) BlockSearch(_ context.Context, search string, _, _ *int, _ string) (*ctypes.ResultBlockSearch, error) {
	if n.asked++; !n.indexed {
		return nil, errors.New("block indexing is disabled")
	}
	found := &ctypes.ResultBlockSearch{}
	for id, event := range map[string]string{"good": "enactment", "bad": "enactment", "back": "discard",
		"late": "discard"} {
		if search == event+".proposal CONTAINS '"+id+"'" {
			found.TotalCount = 1
		}
	}
	if found.TotalCount > 0 && n.height >= n.kept {
		block := &cmttypes.Block{Header: cmttypes.Header{Height: n.height}}
		found.Blocks = []*ctypes.ResultBlock{{Block: block}}
	}
	return found, nil
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

// TestOutcomes: the end of a proposal is found near its last approval, in the last blocks, and by the node's index
// however much later it is, and asked for once. What a node cannot know is unknown, and asked for again.
func TestOutcomes(t *testing.T) {
	ends := map[string]Outcome{"good": {State: "enacted"}, "bad": {State: "rejected", Why: "too few (M6)"},
		"back": {State: "withdrawn"}, "late": {State: "expired"}}
	for _, n := range []*ending{{height: 12}, {height: 59}, {height: 60}, {height: 40, indexed: true}} {
		r := New(n, n, Options{}).Reader(t.Context())
		for id, want := range ends {
			want.At = n.height
			require.Equal(t, want, r.outcome(id, 10))
		}
		asked := n.asked
		require.Equal(t, "enacted", r.outcome("good", 10).State)
		require.Equal(t, asked, n.asked)
		if n.indexed {
			require.Equal(t, Outcome{State: "dropped"}, r.outcome("other", 10))
			require.Equal(t, Outcome{State: "dropped"}, r.outcome("good", 41), "its end is of an earlier time")
			n.kept = 50
			require.Equal(t, "unknown", r.outcome("good", 11).State, "dropped with its block")
		} else {
			require.Equal(t, "unknown", r.outcome("other", 10).State, "no index")
			require.Greater(t, n.asked, asked)
			asked = n.asked
			require.Equal(t, "unknown", r.outcome("other", 10).State)
			require.Equal(t, asked, n.asked, "once a look")
		}
	}
}

// TestNoEndYet: a proposal without an end, as one that the chain took in after this look, is looked for again with the
// next look. A node that claims any height costs a few requests.
func TestNoEndYet(t *testing.T) {
	n := &ending{indexed: true}
	c := New(n, n, Options{})
	require.Equal(t, "dropped", c.Reader(t.Context()).outcome("good", 61).State)
	n.height = 62
	require.Equal(t, "dropped", c.Reader(t.Context()).outcome("good", 61).State, "the same look")
	c.looks.Add(1)
	require.Equal(t, Outcome{State: Enacted, At: 62}, c.Reader(t.Context()).outcome("good", 61))
	n.asked = 0
	hostile := New(n, n, Options{}).Reader(t.Context()).seek("other", math.MaxInt64-3, math.MaxInt64)
	require.Equal(t, "dropped", hostile.State)
	require.Less(t, n.asked, 10)
}
