package reactor

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/app/tx"
)

// proposed is the height of the block.
const proposed = 5

// txHash hashes a transaction as the pool does.
func txHash(raw []byte) hash { return sha256.Sum256(raw) }

// blockWith returns a block of transactions of some lengths, its parts, and a pool that holds all.
func blockWith(lengths ...int) (*types.Block, *types.PartSet, map[hash]*tx.Tx) {
	b := types.MakeBlock(proposed, nil, &types.Commit{}, nil)
	b.ChainID, b.Time = "parts", time.Unix(1, 0).UTC()
	pool := map[hash]*tx.Tx{}
	for i, n := range lengths {
		raw := bytes.Repeat([]byte{byte(i + 1), byte((i + 1) >> 8), 7}, n/3+1)[:n]
		b.Txs = append(b.Txs, raw)
		pool[txHash(raw)] = &tx.Tx{Raw: raw, Hash: txHash(raw)}
	}
	p, err := b.ToProto()
	if err != nil {
		panic(err)
	}
	raw, err := p.Marshal()
	if err != nil {
		panic(err)
	}
	return b, types.NewPartSetFromData(raw, types.BlockPartSizeBytes), pool
}

// sent returns a message as the peer decodes it.
func sent(t require.TestingT, m *CompactBlock) *CompactBlock {
	raw, err := m.Marshal()
	require.NoError(t, err)
	got := new(CompactBlock)
	require.NoError(t, got.Unmarshal(raw))
	return got
}

// TestPartsAreRebuilt: whatever transactions a block has, and whatever the pool of the receiver
// lacks, the rebuilt parts equal the block's parts and have valid proofs. Only parts with bytes of
// a transaction that the pool lacks are missing.
func TestPartsAreRebuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 3*partBytes))
		lengths := rapid.SliceOfN(length, 0, 12).Draw(t, "lengths")
		block, parts, pool := blockWith(lengths...)
		made, err := compact(proposed, parts, block.Txs, txHash)
		require.NoError(t, err)
		got, err := readCompact(sent(t, made.CompactBlock))
		require.NoError(t, err)
		require.Equal(t, parts.Header(), got.header)
		lacks := map[hash]bool{}
		for i, raw := range block.Txs {
			if len(raw) >= minReferred && rapid.Bool().Draw(t, "lacks") {
				lacks[txHash(block.Txs[i])] = true
			}
		}
		held := func(h hash) *tx.Tx {
			if lacks[h] {
				return nil
			}
			return pool[h]
		}
		whole := types.NewPartSetFromHeader(parts.Header())
		for i := range int(parts.Total()) {
			part, missing, err := got.rebuildPart(i, held)
			require.NoError(t, err)
			if part == nil {
				require.True(t, lacks[missing])
				require.NotNil(t, pool[missing])
				continue
			}
			require.Equal(t, []byte(parts.GetPart(i).Bytes), part.Bytes)
			read, err := types.PartFromProto(part)
			require.NoError(t, err)
			added, err := whole.AddPart(read)
			require.NoError(t, err)
			require.True(t, added)
		}
		require.Equal(t, len(lacks) == 0, whole.IsComplete())
	})
}

// TestForgedCompactBlocks: a part that does not match the Merkle tree is an error, and a message of
// a wrong form is rejected.
func TestForgedCompactBlocks(t *testing.T) {
	block, parts, pool := blockWith(3*partBytes, 5000, 70_000)
	held := func(h hash) *tx.Tx { return pool[h] }
	made, err := compact(proposed, parts, block.Txs, txHash)
	require.NoError(t, err)
	for name, change := range map[string]func(*CompactBlock){
		"other transaction":       func(m *CompactBlock) { copy(m.Hashes, m.Hashes[32:64]) },
		"order":                   func(m *CompactBlock) { m.Hashes = append(m.Hashes[64:], m.Hashes[:64]...) },
		"lengths":                 func(m *CompactBlock) { m.Lengths[0]--; m.Lengths[1]++ },
		"literal":                 func(m *CompactBlock) { m.Literals[0][9]++ },
		"bytes between":           func(m *CompactBlock) { m.Literals[1] = append(m.Literals[1], 1) },
		"leaf of the second part": func(m *CompactBlock) { m.Leaves[32]++ },
	} {
		m := sent(t, made.CompactBlock)
		change(m)
		got, err := readCompact(m)
		require.NoError(t, err, name)
		forged := false
		for i := range int(got.header.Total) {
			_, _, err := got.rebuildPart(i, held)
			forged = forged || err != nil
		}
		require.True(t, forged, name)
	}
	for name, change := range map[string]func(*CompactBlock){
		"height 0":        func(m *CompactBlock) { m.Height = 0 },
		"no leaves":       func(m *CompactBlock) { m.Leaves = nil },
		"too many leaves": func(m *CompactBlock) { m.Leaves = make([]byte, 32*(types.MaxBlockPartsCount+1)) },
		"half a leaf":     func(m *CompactBlock) { m.Leaves = m.Leaves[1:] },
		"half a hash":     func(m *CompactBlock) { m.Hashes = m.Hashes[1:] },
		"no lengths":      func(m *CompactBlock) { m.Lengths = nil },
		"a huge length":   func(m *CompactBlock) { m.Lengths[1] = 1<<32 - 1 },
		"no literals":     func(m *CompactBlock) { m.Literals = nil },
		"too many hashes": func(m *CompactBlock) { m.Hashes = make([]byte, 32*(maxReferred+1)) },
	} {
		m := sent(t, made.CompactBlock)
		change(m)
		_, err := readCompact(m)
		require.ErrorIs(t, err, errCompact, name)
	}
}

// TestCompactBlockIsBounded: there is no compact block if it would be too large, or if the bytes of
// the parts are not the bytes of a block.
func TestCompactBlockIsBounded(t *testing.T) {
	block, parts, _ := blockWith(make([]int, 8000)...)
	for i := range block.Txs {
		require.Empty(t, block.Txs[i])
	}
	_, err := compact(proposed, parts, block.Txs, txHash)
	require.NoError(t, err, "small transactions are literal")
	lengths := make([]int, 7000)
	for i := range lengths {
		lengths[i] = minReferred
	}
	block, parts, _ = blockWith(lengths...)
	_, err = compact(proposed, parts, block.Txs, txHash)
	require.ErrorIs(t, err, errCompact)
	parts = types.NewPartSetFromData(bytes.Repeat([]byte{0xff}, 100), types.BlockPartSizeBytes)
	_, err = compact(proposed, parts, nil, txHash)
	require.ErrorIs(t, err, errCompact)
}

// FuzzCompactBlock: whatever a peer sends, reading the message does not panic, and every rebuilt
// part has a valid proof in the message's Merkle tree.
func FuzzCompactBlock(f *testing.F) {
	block, parts, pool := blockWith(partBytes, 300, 2000)
	made, err := compact(proposed, parts, block.Txs, txHash)
	require.NoError(f, err)
	raw, err := (&BlockGossip{Block: made.CompactBlock}).Marshal()
	require.NoError(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m BlockGossip
		if m.Unmarshal(raw) != nil || m.Block == nil {
			return
		}
		b, err := readCompact(m.Block)
		if err != nil {
			return
		}
		for i := range min(int(b.header.Total), 64) {
			part, _, err := b.rebuildPart(i, func(h hash) *tx.Tx { return pool[h] })
			if err != nil || part == nil {
				continue
			}
			read, err := types.PartFromProto(&cmtproto.Part{Index: part.Index, Bytes: part.Bytes, Proof: part.Proof})
			if err == nil {
				require.NoError(t, read.Proof.Verify(b.header.Hash, part.Bytes))
			}
		}
	})
}
