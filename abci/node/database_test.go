package node

import (
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

// TestLargeRoundsAreStoredUncompressed: a home without a genesis, and one of small rounds, store as
// ever; buffers grow with rounds, and are bounded.
func TestLargeRoundsAreStoredUncompressed(t *testing.T) {
	require.Zero(t, roundBytes(config.DefaultConfig().SetRoot(t.TempDir())))
	for _, small := range []int64{0, 100_000, 1 * opt.MiB} {
		require.Equal(t, levelDB, *levelDBOf(small))
	}
	for round, buffer := range map[int64]int{
		1*opt.MiB + 1: 1 * opt.MiB, 6 * opt.MiB: 3 * opt.MiB, 8 * opt.MiB: 4 * opt.MiB, 80 * opt.MiB: 4 * opt.MiB,
	} {
		o := levelDBOf(round)
		require.Equal(t, buffer, o.WriteBuffer, "%d bytes", round)
		require.Equal(t, opt.NoCompression, o.GetCompression())
	}
}
