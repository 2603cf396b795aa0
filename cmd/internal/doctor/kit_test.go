package doctor

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"testing"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"
)

func nopLogger() log.Logger { return log.NewNopLogger() }

// genesisChunk returns a genesis as a node sends it.
func genesisChunk(t *testing.T, doc *types.GenesisDoc) string {
	t.Helper()
	data, err := cmtjson.Marshal(doc)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(data)
}

// withRounds returns the application's part of a genesis with another number of rounds.
func withRounds(state []byte, rounds int) []byte {
	return regexp.MustCompile(`"rounds":\s*\d+`).ReplaceAll(state, fmt.Appendf(nil, `"rounds": %d`, rounds))
}
