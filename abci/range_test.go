package abci_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

// ask sends one query.
func (n *node) ask(path string, height int64) (*abcitypes.ResponseQuery, query.RangeInfo) {
	n.t.Helper()
	r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: path, Height: height})
	require.NoError(n.t, err)
	var head query.RangeInfo
	if r.Code == abci.CodeOK {
		require.NoError(n.t, json.Unmarshal([]byte(r.Info), &head))
	}
	return r, head
}

// gather fetches all pieces of the answer to a path.
func (n *node) gather(path string) (data []byte, head query.RangeInfo) {
	n.t.Helper()
	for from := 0; head.Bytes == 0 || from < head.Bytes; from = len(data) {
		r, says := n.ask(fmt.Sprintf("%s?from=%d", path, from), 0)
		require.Equal(n.t, abci.CodeOK, r.Code, r.Log)
		require.LessOrEqual(n.t, len(r.Value), query.MaxRange)
		require.True(n.t, from == 0 || says == head)
		data, head = append(data, r.Value...), says
	}
	return data, head
}

// medium sets a model of three pieces, with a velocity.
func medium(p *params.Params) {
	p.Model.Inputs, p.Model.Classes, p.Training.Momentum = 30_000, 10, 0.5
}

// TestPieces: the pieces of a model, of the velocity and of a state join to the bytes of the whole,
// and describe the same whole. Any valid range is answered, and an invalid one is rejected with
// value and bound.
func TestPieces(t *testing.T) {
	n := begin(t, 4, medium)
	s := drive(t, []*node{n}, apptest.State(4, medium), 2)
	model, root := app.EncodeParameters(s.Model), app.ModelHash(s.Model)
	require.Greater(t, len(model), 2*query.MaxRange)
	for path, want := range map[string][]byte{
		"/model": model, "/model/1": model, "/model/0/1": model, "/velocity": app.EncodeParameters(s.Velocity),
		"/kept": s.Encode(),
	} {
		data, head := n.gather(path)
		require.True(t, bytes.Equal(want, data), path)
		require.Equal(t, query.RangeInfo{Epoch: 0, Round: 2, Height: s.Height, Hash: head.Hash, Bytes: len(want)}, head, path)
	}
	_, head := n.gather("/model/1")
	require.Equal(t, hex.EncodeToString(root[:]), head.Hash)
	r, _ := n.ask("/model/0/1?from=7&to=12", 0)
	require.Equal(t, model[7:12], r.Value)
	r, _ = n.ask(fmt.Sprintf("/model?from=%d&to=%d", len(model)-1, len(model)), 0)
	require.Equal(t, model[len(model)-1:], r.Value)

	for path, says := range map[string]string{
		"/model?from=2400080":              "from byte 2400080 to before byte 2400081, there are 2400080",
		"/model?from=0&to=2400081":         "at most 1048576 bytes",
		"/model?from=2400000&to=2400081":   "to before byte 2400081, there are 2400080",
		"/model?from=5&to=5":               "from byte 5 to before byte 5, want at least 1",
		"/model?from=5&to=0":               "want at least 1",
		"/model?from=0&to=1048577":         "from byte 0 to before byte 1048577, want at least 1 and at most 1048576 bytes",
		"/model?from=18446744073709551615": "there are 2400080",
		"/model?from=-1":                   `"-1" is no number`,
		"/model?":                          "want from=A",
		"/model?to=5":                      "want from=A",
		"/model?from=1&from=2":             "want from=A",
		"/model?from=1&much=2":             "want from=A",
		"/model?from=%":                    "want from=A",
		"/model/9?from=0":                  "no record of epoch 0 round 9",
		"/model/x?from=0":                  `"x" is no number`,
		"/velocity/1?from=0":               "only the velocity as it stands",
		"/status?from=0":                   `"status" is not answered in pieces`,
		"?from=0":                          "is not answered in pieces",
	} {
		r, _ := n.ask(path, 0)
		require.NotEqual(t, abci.CodeOK, r.Code, path)
		require.Contains(t, r.Log, says, path)
	}
	r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: "/model?from=0", Prove: true})
	require.NoError(t, err)
	require.Contains(t, r.Log, "a range has no proof")
}

// TestPiecesOfOneState: a client that has begun to fetch a state can continue by its height while
// blocks pass. This ends when other answers have displaced it from the cache, or after a minute
// without a request; the error then says so.
func TestPiecesOfOneState(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	a, err := abci.New(abci.Options{ChainID: apptest.ChainID, ProposalWait: 30e6, StragglerWait: 10e6,
		Now: func() time.Time { return now }})
	require.NoError(t, err)
	n := &node{Application: a, t: t}
	n.init(4, medium)
	s := drive(t, []*node{n}, apptest.State(4, medium), 1)
	document, at := s.Encode(), int64(s.Height)
	first, head := n.ask("/kept?from=0", 0)
	require.Equal(t, at, first.Height)
	s = drive(t, []*node{n}, s, 1)
	next, says := n.ask(fmt.Sprintf("/kept?from=%d", query.MaxRange), at)
	require.Equal(t, abci.CodeOK, next.Code, next.Log)
	require.Equal(t, head, says)
	require.Equal(t, at, next.Height)
	require.Equal(t, document[:2*query.MaxRange], append(first.Value, next.Value...))

	now = now.Add(2 * time.Minute)
	drive(t, []*node{n}, s, 1)
	gone, _ := n.ask("/kept?from=1", at)
	require.Equal(t, abci.CodeBadQuery, gone.Code)
	require.Contains(t, gone.Log, fmt.Sprintf("height %d, only the last, %d", at, at+2))
	other, _ := n.ask("/model/0?from=0", at)
	require.Contains(t, other.Log, "only the last")
}

// TestChunksOfARound: each chunk of the model after a closed round has a proof, which proves no
// other chunk.
func TestChunksOfARound(t *testing.T) {
	n := begin(t, 4, medium)
	s := drive(t, []*node{n}, apptest.State(4, medium), 2)
	hash := s.Hash()
	first, err := n.Query(ctx, &abcitypes.RequestQuery{Path: "/model/0?from=0"})
	require.NoError(t, err)
	prove := func(path string) (proof.Proven, *abcitypes.ResponseQuery) {
		r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: path, Prove: true})
		require.NoError(t, err)
		return proof.Proven{Value: r.Value, Ops: r.ProofOps}, r
	}
	for _, path := range []string{"/chunk/0/0/1", "/chunk/0/1"} {
		p, r := prove(path)
		require.Equal(t, abci.CodeOK, r.Code, r.Log)
		require.Equal(t, "chunk/0/0/1", string(r.Key))
		require.Equal(t, first.Value[32768:65536], p.Value)
		require.NoError(t, p.Verify("chunk/0/0/1", hash[:]))
		require.Error(t, p.Verify("chunk/0/1/1", hash[:]))
		require.Error(t, p.Verify("chunk/0/0/2", hash[:]))
	}
	for path, says := range map[string]string{"/chunk/0/0/74": "chunk 74, the model has 74", "/chunk/0/9/0": "no record",
		"/chunk/0/x": "no number", "/chunk/74": "nothing in the state"} {
		_, r := prove(path)
		require.Contains(t, r.Log, says, path)
	}
}
