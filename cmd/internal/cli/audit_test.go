package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dbm "github.com/cometbft/cometbft-db"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/internal/stage"
)

// TestAudit: a net of four trains on MNIST; a stopped node's home and
// its archive replay to the same end in a small share of the time; one byte of
// one gradient changed in the node's own database is found.
func TestAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	rounds := stage.Pick[uint64](30, 30, 100)
	net := filepath.Join(t.TempDir(), "net")
	_, stderr, code := spdl(t, "testnet", "start", "--preset", "pixels", "--inprocess", "--rounds", fmt.Sprint(rounds),
		"--seed", "4", "--no-eval", "--home", net, "-o", "json")
	require.Zero(t, code, stderr)
	home := filepath.Join(net, "node0") // the one that was followed to the end: another may lack the last block
	replay := func(code int, args ...string) (r audit.Report, stderr string) {
		stdout, stderr, got := spdl(t, append([]string{"audit", "replay", "-o", "json"}, args...)...)
		require.Equal(t, code, got, stderr)
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		return r, stderr
	}
	r, _ := replay(0, "--home", home)
	require.Nil(t, r.Divergence)
	require.Equal(t, rounds, r.Rounds)
	require.True(t, r.TipChecked)
	for try := 0; r.Ratio >= 0.5 && try < 5; try++ { // the machine may have been busy for once
		r, _ = replay(0, "--home", home)
	}
	require.Less(t, r.Ratio, 0.5)
	t.Logf("replay: %.2f s for %.2f s of the chain's time, ratio %.3f, %d signatures", r.ReplaySeconds, r.ChainSeconds,
		r.Ratio, r.Signatures)

	file := filepath.Join(t.TempDir(), "chain.spdl")
	_, stderr, code = spdl(t, "audit", "archive", "--home", home, "--out", file)
	require.Zero(t, code, stderr)
	_, _, code = spdl(t, "audit", "archive", "--home", home, "--out", file)
	require.Equal(t, 1, code, "nothing is overwritten")
	left, err := filepath.Glob(file + ".part-*")
	require.NoError(t, err)
	require.Empty(t, left)
	archived, _ := replay(0, file, "--genesis", filepath.Join(net, "node2/config/genesis.json"))
	require.Equal(t, r.AppHash, archived.AppHash)
	require.Equal(t, r.Spend, archived.Spend)
	text, _, code := spdl(t, "audit", "replay", file)
	require.Zero(t, code)
	require.Contains(t, text, "the chain is what its blocks say, at every height")
	require.Contains(t, text, "\nmodel hash    "+r.ModelHash+"\n")

	points := filepath.Join(t.TempDir(), "net.csv")
	page, _ := chainPage(t, 0, net, "--csv", points)
	rows, err := os.ReadFile(points)
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(string(rows)), "\n"), int(1+rounds), "a head, and a row a round")
	require.Contains(t, page, fmt.Sprintf(", with %d rounds, ", rounds))
	require.Contains(t, page, r.AppHash)

	height, tampered, hash := tamper(t, home, int(1+2*rounds/5))
	r, stderr = replay(1, "--home", home)
	diverges := fmt.Sprintf("diverges at height %d", height)
	require.Contains(t, stderr, diverges)
	page, stderr = chainPage(t, 1, home)
	require.Contains(t, stderr, diverges)
	require.Contains(t, page, fmt.Sprintf("THE REPLAY DIVERGES at height %d", height))
	require.NotNil(t, r.Divergence)
	require.Equal(t, uint64(height), r.Divergence.Height)
	require.Equal(t, uint64(height-1), r.Last)
	require.Len(t, r.Divergence.Transactions, 1)
	require.Equal(t, tampered, r.Divergence.Transactions[0].Index)
	require.Equal(t, "gradient", r.Divergence.Transactions[0].Kind)
	require.Equal(t, hash, r.Divergence.Transactions[0].Hash)
	before := filesOf(t, filepath.Join(home, "data"))
	text, _, code = spdl(t, "audit", "replay", "--home", home)
	require.Equal(t, before, filesOf(t, filepath.Join(home, "data")), "a replay changes no file of the home")
	require.Equal(t, 1, code)
	require.Contains(t, text, fmt.Sprintf("DIVERGENCE at height %d", height))
	require.NotContains(t, text, "is what its blocks say")

	held, err := dbm.NewDB("state", dbm.GoLevelDBBackend, filepath.Join(home, "data")) // as a node that runs
	require.NoError(t, err)
	_, stderr, code = spdl(t, "audit", "replay", "--home", home)
	require.NoError(t, held.Close())
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "or ask it: spdl audit replay --node tcp://")

	data, err := os.ReadFile(file)
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.spdl")
	require.NoError(t, os.WriteFile(cut, data[:len(data)/2], 0o600))
	_, stderr, code = spdl(t, "audit", "replay", cut)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "cut off")
}

// tamper changes one byte of the last gradient of a block in a node's store: of
// the first block from a height on that holds a round, for any block may be
// empty. It returns the block's height, the transaction's place and its new hash.
func tamper(t *testing.T, home string, from int) (height, index int, hash string) {
	t.Helper()
	db, err := dbm.NewDB("blockstore", dbm.GoLevelDBBackend, filepath.Join(home, "data"))
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	var key, value []byte
	var part cmtproto.Part
	var b cmtproto.Block
	holds := func() bool { // a round, and not commitments
		if len(b.Data.Txs) == 0 {
			return false
		}
		x, err := tx.Decode(b.Data.Txs[len(b.Data.Txs)-1])
		require.NoError(t, err)
		return x.Gradient != nil
	}
	for height = from; !holds(); height++ {
		key = fmt.Appendf(nil, "P:%d:0", height) // the block's only part
		value, err = db.Get(key)
		require.NoError(t, err)
		require.NotEmpty(t, value, "a block with a round from height %d on", from)
		part, b = cmtproto.Part{}, cmtproto.Block{} // Unmarshal appends
		require.NoError(t, part.Unmarshal(value))
		require.NoError(t, b.Unmarshal(part.Bytes))
	}
	height--
	index = len(b.Data.Txs) - 1
	x, err := tx.Decode(b.Data.Txs[index])
	require.NoError(t, err)
	require.NotNil(t, x.Gradient)
	at := bytes.Index(part.Bytes, x.Gradient.Payload)
	require.Positive(t, at)
	part.Bytes[at+100] ^= 1
	value, err = part.Marshal()
	require.NoError(t, err)
	require.NoError(t, db.SetSync(key, value))
	b = cmtproto.Block{}
	require.NoError(t, b.Unmarshal(part.Bytes))
	x, err = tx.Decode(b.Data.Txs[index])
	require.NoError(t, err, "still a transaction by its form")
	return height, index, hex.EncodeToString(x.Hash[:])
}

// filesOf returns what each file below a folder holds, but the locks.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "LOCK" {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	}))
	return all
}
