package abci_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// consensusParams returns the consensus_params that a new genesis has, with another value for one, as JSON. An empty
// value leaves it out.
func consensusParams(t *testing.T, g app.Genesis, name, value string) types.ConsensusParams {
	t.Helper()
	doc, err := home.NewGenesis(apptest.ChainID, time.Unix(0, 0), g)
	require.NoError(t, err)
	text, err := cmtjson.Marshal(doc.ConsensusParams)
	require.NoError(t, err)
	var sections map[string]map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &sections))
	section, field, _ := strings.Cut(name, ".")
	require.Contains(t, sections[section], field, "CometBFT has no consensus parameter %s", name)
	sections[section][field] = json.RawMessage(value)
	if _, err := strconv.Atoi(value); err == nil {
		sections[section][field] = json.RawMessage(strconv.Quote(value)) // as CometBFT writes integers
	}
	if value == "" {
		delete(sections[section], field)
	}
	text, err = json.Marshal(sections)
	require.NoError(t, err)
	var p types.ConsensusParams
	require.NoError(t, cmtjson.Unmarshal(text, &p))
	return p
}

// TestSpecifiedConsensusParams: the table of consensus_params in SPEC.md, Genesis, says what is accepted, and each
// other value is refused.
func TestSpecifiedConsensusParams(t *testing.T) {
	spec, err := os.ReadFile("../app/SPEC.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(spec), "| in `consensus_params` | value |\n|---|---|\n")
	require.True(t, found)
	table, text, _ := strings.Cut(table, "\n\n")
	others := map[string][]string{
		"block.max_bytes":    nil, // below
		"block.max_gas":      {"0", "1", "1000000"},
		"evidence.max_bytes": {"0", "65535", "65537", "1048576", ""},
		"validator.pub_key_types": {`["secp256k1"]`, `["ed25519", "secp256k1"]`, `["ed25519", "ed25519"]`, `[]`,
			""},
		"abci.vote_extensions_enable_height": {"1", "1000"},
		"version.app":                        {"0", "5", "7", "99", ""},
	}
	g := apptest.Genesis(4, apptest.Params(4))
	accepts := func(name, value string) {
		p := consensusParams(t, g, name, value)
		require.NoError(t, p.ValidateBasic())
		require.NoError(t, genesis.CheckConsensus(p.ToProto(), g, 4), "%s is %s", name, value)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| (\\[.*\\]|-?[0-9]+)[,;| ].*$").FindAllStringSubmatch(table, -1)
	require.Len(t, rows, strings.Count(table, "\n")+1, "each row has a name and a value")
	require.Len(t, rows, len(others))
	for _, row := range rows {
		wrong, known := others[row[1]]
		require.True(t, known, "no test of %s", row[1])
		accepts(row[1], row[2])
		for _, value := range wrong {
			if value == row[2] {
				continue // of the next version
			}
			p := consensusParams(t, g, row[1], value)
			err := genesis.CheckConsensus(p.ToProto(), g, 4)
			require.ErrorIs(t, err, app.ErrGenesis, "%s is %s", row[1], value)
			require.ErrorContains(t, err, "consensus_params."+row[1])
		}
	}
	testBlockBytes(t, g, text)
}

// testBlockBytes tests the two bounds on block.max_bytes that follow the table: with few validators the first is the
// larger one, and with many the second.
func testBlockBytes(t *testing.T, g app.Genesis, text string) {
	bound := regexp.MustCompile(`block.max_bytes >= block_bytes
    block.max_bytes >= N \* gradient \+ aggregate \+ ([0-9]+)\*V \+ ([0-9]+)\n`).FindStringSubmatch(text)
	require.NotNil(t, bound)
	each, err := strconv.ParseInt(bound[1], 10, 64)
	require.NoError(t, err)
	fixed, err := strconv.ParseInt(bound[2], 10, 64)
	require.NoError(t, err)
	for _, validators := range []int64{1, 4, 250, 350, 30000} {
		n := len(g.Participants)
		least := max(g.Params.BlockBytes(n), g.Params.RoundBytes(n)+each*validators+fixed)
		require.Equal(t, validators > 300, least > g.Params.BlockBytes(n), "both bounds are tested")
		for bytes, ok := range map[int64]bool{least - 1: false, least: true, least + 1: true, -1: true} {
			p := consensusParams(t, g, "block.max_bytes", strconv.FormatInt(bytes, 10))
			err := genesis.CheckConsensus(p.ToProto(), g, int(validators))
			require.Equal(t, ok, err == nil, "%d bytes of %d, %d validators: %v", bytes, least, validators, err)
		}
	}
	p := consensusParams(t, g, "block.max_bytes", "-1")
	fits := (types.MaxBlockSizeBytes - fixed - g.Params.RoundBytes(len(g.Participants))) / each
	require.NoError(t, genesis.CheckConsensus(p.ToProto(), g, int(fits)))
	require.ErrorIs(t, genesis.CheckConsensus(p.ToProto(), g, int(fits)+1), app.ErrGenesis)
}
