package explorer

import (
	"context"
	"net/http"
	"strings"
	"testing"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	cmttypes "github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// plotted is a node whose blocks have gradients: those of participants 0 to 2 go one way, that of 3
// goes the other, and Delta is what the rule makes of them.
type plotted struct {
	*fake
	forged bool // the records have another digest
	rule   string
}

func (p plotted) vectors() []gradients.Vector {
	var out []gradients.Vector
	for i := range int8(3) {
		q := make([]int8, 15)
		q[0], q[14], q[1+i] = -100, 100, 10
		out = append(out, gradients.FromInt8(q))
	}
	q := make([]int8, 15)
	q[0], q[14] = 127, -127 // the fake's gradient
	return append(out, gradients.FromInt8(q))
}

func (p plotted) Query(ctx context.Context, path string, answer any) error {
	err := p.fake.Query(ctx, path, answer)
	switch x := answer.(type) {
	case *app.Record:
		x.Rule = p.rule
		rule, err := rules.Lookup(p.rule)
		if err != nil {
			return err
		}
		out, err := rule.Aggregate(rules.Input{N: 4, F: 1, Vectors: p.vectors(), Seed: x.Seed})
		if err != nil {
			return err
		}
		for i := range x.Contributions {
			x.Contributions[i].Score = 0
		}
		if digest := out.Delta.Digest(); !p.forged {
			x.DeltaDigest = digest[:]
		}
	case *params.Params:
		x.Rule.Name = p.rule
	}
	return err
}

func (p plotted) Block(_ context.Context, h *int64) (*ctypes.ResultBlock, error) {
	txs := cmttypes.Txs{p.join()} // in place of the aggregate, which has no vectors
	for i, v := range p.vectors() {
		content, err := (&tx.Gradient{Participant: uint32(i), Payload: v.Encode(), VrfProof: make([]byte, 80)}).Marshal()
		if err != nil {
			return nil, err
		}
		raw, err := (&tx.Envelope{Kind: uint32(tx.KindGradient), Content: content, Signature: make([]byte, 64)}).Marshal()
		if err != nil {
			return nil, err
		}
		txs = append(txs, raw)
	}
	return &ctypes.ResultBlock{Block: &cmttypes.Block{Header: p.header(*h), Data: cmttypes.Data{Txs: txs},
		LastCommit: &cmttypes.Commit{}}}, nil
}

func plot(t *testing.T, forged bool, rule string) *Server {
	t.Helper()
	p := plotted{newFake(6, "node"), forged, rule}
	s := New(p, p, Options{APIConfig: home.APIConfig{Rate: 1e6, Burst: 1e6}})
	require.NoError(t, s.chain.Look(t.Context()))
	return s
}

// TestMapShowsTheAttackerApart: the round's page draws its gradients, marks Delta, and gives the angles.
func TestMapShowsTheAttackerApart(t *testing.T) {
	s := plot(t, false, "mean")
	page := get(s, "/round/0/4").Body.String()
	require.Contains(t, page, `<path class="delta"`)
	require.Equal(t, 1, strings.Count(page, `<circle class="opposed"`))
	require.Equal(t, 3, strings.Count(page, `<circle class="selected"`))
	row := between(t, page, `<tr class="alarm-suspect">`, "</tr>")
	require.Contains(t, row, `<td data-l="norm" class="n">180</td>`)
	require.Regexp(t, `angle to Delta" class="n">1[5-7]\d°`, row)
	w := get(s, "/round/0/4/map.csv")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "text/csv; charset=utf-8", w.Header().Get("Content-Type"))
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	require.Len(t, lines, 5)
	require.Equal(t, "participant,x,y,norm,degrees_to_delta", lines[0])
}

// TestNoDeltaWithoutItsDigest: what the explorer computed is shown only if the record has its digest.
func TestNoDeltaWithoutItsDigest(t *testing.T) {
	page := get(plot(t, true, "mean"), "/round/0/4").Body.String()
	require.Contains(t, page, "The picture keeps")
	require.NotContains(t, page, `<path class="delta"`)
	require.NotContains(t, page, "The angle is")
}

// TestMixturesHaveNoScore: that a rule that mixes the nearest has no scores is said once.
func TestMixturesHaveNoScore(t *testing.T) {
	page := get(plot(t, false, "nnm+trimmed-mean"), "/round/0/4").Body.String()
	require.Equal(t, 1, strings.Count(page, "scores no whole gradients: it takes coordinates, or means of several"))
}

// TestNoMapWithoutGradients: a node without the block, and a round that is too large, have none.
func TestNoMapWithoutGradients(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	w := get(s, "/round/0/4")
	require.Equal(t, http.StatusOK, w.Code)
	require.NotContains(t, w.Body.String(), "Map of the gradients")
	require.Equal(t, http.StatusNotFound, get(s, "/round/0/4/map.csv").Code)
	large := &app.Record{Contributions: make([]app.Contribution, 101)}
	require.Nil(t, crowdOf(t, 101).chain.Reader(t.Context()).Shape(large))
}
