package pages

import (
	"context"
	"net/url"
	"strings"
	"testing"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	cmttypes "github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// idle is a node whose blocks are empty, but for every hundredth.
type idle struct{ chainview.RPC }

func (idle) Query(context.Context, string, any) error { return nil }

func (idle) BlockchainInfo(_ context.Context, from, until int64) (*ctypes.ResultBlockchainInfo, error) {
	out := &ctypes.ResultBlockchainInfo{}
	for h := from; h <= until; h++ {
		m := &cmttypes.BlockMeta{Header: cmttypes.Header{Height: h}}
		if h%100 == 0 {
			m.NumTxs = 1
		}
		out.BlockMetas = append(out.BlockMetas, m)
	}
	return out, nil
}

// TestEmptyBlocksAreFolded: a run of blocks without transactions is one line, the newest block is a line
// of its own, and the lines before them begin where these end.
func TestEmptyBlocksAreFolded(t *testing.T) {
	r := &Request{Reader: chainview.New(idle{}, idle{}, chainview.Options{}).Reader(t.Context())}
	list := func(until int64) (lines [][2]int64, older int64) {
		all, older := r.blockLines(until)
		require.NoError(t, r.Err())
		for _, l := range all {
			lines = append(lines, [2]int64{l.Height, l.From})
		}
		return lines, older
	}
	lines, older := list(450)
	require.Equal(t, [][2]int64{{450, 450}, {449, 401}, {400, 400}, {399, 301}, {300, 300}, {299, 251}}, lines)
	require.EqualValues(t, 251, older)
	lines, older = list(older - 1)
	require.Equal(t, [2]int64{250, 250}, lines[0])
	require.EqualValues(t, 51, older)
	lines, older = list(older - 1)
	require.Equal(t, [][2]int64{{50, 50}, {49, 1}}, lines)
	require.Zero(t, older)
}

// TestCommitHasFields: a commit is no operation of members, and shows what it promises.
func TestCommitHasFields(t *testing.T) {
	fields := fieldsOf(&tx.Tx{Body: &tx.Commit{Hash: make([]byte, 32), VrfProof: []byte{1}}})
	require.Equal(t, []field{{"Hash of the gradient", strings.Repeat("0", 64), true}, {"VRF proof", "01", false}}, fields)
}

// TestNoteOfTheRule: the table of a round says what its scores mean, of any rule, or that there are none.
func TestNoteOfTheRule(t *testing.T) {
	times, weight := 1.5, 0.5
	for want, v := range map[string]chainview.Verdict{
		"The score is what the rule mine says of how badly a gradient fits: the lowest fits best.": {Times: &times},
		"The rule mine scores no whole gradients: it takes coordinates, or means of several.":      {},
		"": {Weight: &weight},
	} {
		r := &Request{Reader: chainview.New(idle{}, idle{}, chainview.Options{}).Reader(t.Context()), URL: &url.URL{},
			PathValue: func(string) string { return "0" }}
		b := roundPage{Story: &chainview.Story{Verdicts: []chainview.Verdict{v}}}
		b.Rule = "mine"
		b.measure(r)
		require.Equal(t, want, b.Note)
	}
}
