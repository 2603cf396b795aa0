package explorer

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestVotes: approvals are counted and named, those of participants that left do not count, and the
// page says what happens next and how to approve.
func TestVotes(t *testing.T) {
	m := query.Membership{Threshold: 3, Members: []query.Member{{Index: 0, Moniker: "alice", Active: true},
		{Index: 1, Moniker: "bob"}, {Index: 2, Moniker: "carol", Active: true}}}
	m.Proposals = []query.Proposal{{ID: "ab", Kind: "remove", Approvals: []uint32{2, 1}}}
	p := chainview.OpenProposals(m, params.Params{}, nil)[0]
	require.Equal(t, m.Members[2:], p.For)
	require.Equal(t, m.Members[:1], p.Silent)
	p.Unknown = ""
	require.Equal(t, 2, p.Missing)
	require.Contains(t, p.Next(), "dropped if its proposer leaves before, and withdrawn if its approvals are")
	p.Accepted = true
	require.Contains(t, p.Next(), "takes effect at the next round boundary")
	p.Kind = "start-epoch"
	require.Contains(t, p.Next(), "when the running epoch's training is finished")
	p.Accepted = false
	require.Contains(t, p.Next(), "when the running epoch's training is finished")
	p.Now = true
	require.Contains(t, p.Next(), "ends the running epoch, and opens its own, at the next round boundary")

	page := get(over(t, newFake(6, "text"), Options{}), "/governance").Body.String()
	for _, text := range []string{"0 of 3 approvals", "It needs 3 more", "<code>spdl tx approve text</code>", "Admit text",
		`<span class="tag absent">dropped</span>`} {
		require.Contains(t, page, text)
	}
}

// TestEpochChanges: the card of an open proposal for an epoch and the page of its transaction show each
// parameter that it changes; a node that answers with another content hides nothing.
func TestEpochChanges(t *testing.T) {
	f := newFake(6, "text")
	next := f.params()
	next.Training.LearningRate, next.Rule.Byzantine = 0.125, 0
	var err error
	f.sent, err = tx.Sign("c", app.NewStartEpoch(0, 1, 1, next, false, false),
		ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	require.NoError(t, err)
	content, err := f.sent.Body.Marshal()
	require.NoError(t, err)
	id := f.sent.ID()
	f.waiting = []query.Proposal{{ID: hex.EncodeToString(id[:]), Kind: "start-epoch", Content: content}}
	s := over(t, f, Options{})
	for _, path := range []string{"/governance", "/tx/" + strings.Repeat("cc", 32)} {
		page := get(s, path).Body.String()
		require.Contains(t, page, "<code>training.learning_rate</code> <bdi>0.5</bdi> → <bdi>0.125</bdi>", path)
		require.Contains(t, page, "f falls to 0", path)
	}
	f.waiting[0].Content = nil
	require.Contains(t, get(over(t, f, Options{}), "/governance").Body.String(), "The effect is unknown")
}

// boundary is a node at one height of which proposals were enacted.
type boundary struct {
	*fake
	height int64
	asked  []int64
}

func (n *boundary) BlockResults(_ context.Context, height *int64) (*ctypes.ResultBlockResults, error) {
	n.asked = append(n.asked, *height)
	r := &ctypes.ResultBlockResults{}
	if *height == n.height {
		for id, why := range map[string]string{"good": "", "bad": "M6: too few"} {
			r.FinalizeBlockEvents = append(r.FinalizeBlockEvents, abcitypes.Event{Type: "enactment",
				Attributes: []abcitypes.EventAttribute{{Key: "proposal", Value: id}, {Key: "refused", Value: why}}})
		}
		for id, cause := range map[string]string{"back": "withdrawn", "late": "expired", n.joined(): "expired"} {
			r.FinalizeBlockEvents = append(r.FinalizeBlockEvents, abcitypes.Event{Type: "discard",
				Attributes: []abcitypes.EventAttribute{{Key: "proposal", Value: id}, {Key: "cause", Value: cause}}})
		}
	}
	return r, nil
}

// joined returns the id of the Join that the index has.
func (n *boundary) joined() string {
	t, err := tx.Decode(n.join())
	if err != nil {
		panic(err)
	}
	id := t.ID()
	return hex.EncodeToString(id[:])
}

// TestDiscardedOnThePage: a proposal that has expired is shown as such, with the height.
func TestDiscardedOnThePage(t *testing.T) {
	n := &boundary{fake: newFake(6, "text"), height: 4}
	s := New(n, n, Options{APIConfig: home.APIConfig{Rate: 1e6, Burst: 1_000_000}})
	require.NoError(t, s.chain.Look(t.Context()))
	require.Contains(t, get(s, "/governance").Body.String(),
		`<span class="tag absent">expired</span> at height <a href="/block/4">4</a>`)
}
