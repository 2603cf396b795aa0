package abci_test

import (
	"strings"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
)

// TestAnswersRepeatNoLongQuestion: the answer to a rejected query is short, however long its path
// and data are.
func TestAnswersRepeatNoLongQuestion(t *testing.T) {
	n := begin(t, 4)
	long := strings.Repeat("x", 4<<20)
	for _, path := range []string{long, "/" + long, "/round/" + long, "/round/" + long + "/1", "/lead/" + long, "/model/" +
		strings.Repeat("\x00", 1<<20), "/participants/" + strings.Repeat("9", 250)} {
		for _, prove := range []bool{false, true} {
			r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: path, Prove: prove})
			require.NoError(t, err)
			require.NotEqual(t, abci.CodeOK, r.Code)
			require.Less(t, r.Size(), 2048)
			require.NotEmpty(t, r.Log)
		}
	}
	r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: long})
	require.NoError(t, err)
	require.Contains(t, r.Log, "the path has 4194304 bytes, at most 256")
	r, err = n.Query(ctx, &abcitypes.RequestQuery{Path: "/status", Data: []byte(long)})
	require.NoError(t, err)
	require.Contains(t, r.Log, "4194304 bytes of data, want none")
	require.Less(t, r.Size(), 2048)
	r, err = n.Query(ctx, &abcitypes.RequestQuery{Path: "/status"})
	require.NoError(t, err)
	require.Equal(t, abci.CodeOK, r.Code)
}
