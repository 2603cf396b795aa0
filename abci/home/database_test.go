package home

import (
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

// TestWriteBuffersGrowWithRounds: a home without a genesis, and a home whose chain has small
// rounds, have the smallest write buffers. The buffers grow with the bytes of a round, up to a
// bound. Compression is off.
func TestWriteBuffersGrowWithRounds(t *testing.T) {
	require.Zero(t, roundBytes(config.DefaultConfig().SetRoot(t.TempDir())))
	for _, small := range []int64{0, 100_000, 1 * opt.MiB} {
		require.Equal(t, levelDB, *levelDBOf(small))
	}
	require.Equal(t, opt.NoCompression, levelDB.Compression)
	for round, buffer := range map[int64]int{
		1*opt.MiB + 1: 1 * opt.MiB, 6 * opt.MiB: 3 * opt.MiB, 8 * opt.MiB: 4 * opt.MiB, 80 * opt.MiB: 4 * opt.MiB,
	} {
		require.Equal(t, buffer, levelDBOf(round).WriteBuffer, "%d bytes", round)
	}
}
