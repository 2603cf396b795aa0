package worker

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// together lets n workers sync at once, while all of them wait for an earlier sync.
func together(t *testing.T, n int, one func(*os.File) error) (errs []error) {
	t.Helper()
	var all GroupSync
	all.syncMu.Lock() // a sync is under way
	errs = make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		if one != nil && i == 0 {
			was := syncFile
			syncFile = func(g *os.File) error {
				if g == f {
					return one(g)
				}
				return was(g)
			}
			t.Cleanup(func() { syncFile = was })
		}
		wg.Go(func() { errs[i] = all.Sync(f) })
	}
	require.Eventually(t, func() bool {
		all.mu.Lock()
		defer all.mu.Unlock()
		return all.nextBatch != nil && len(all.nextBatch.files) == n
	}, time.Minute, time.Millisecond)
	all.syncMu.Unlock()
	wg.Wait()
	require.Nil(t, all.nextBatch, "who comes later is not of this batch, which may have begun before it wrote")
	return errs
}

func TestJournalsThatWaitAreSyncedTogether(t *testing.T) {
	was := syncSystem
	defer func() { syncSystem = was }()
	calls := 0
	syncSystem = func(*os.File) error { calls++; return nil }
	for _, err := range together(t, 50, func(*os.File) error { return errors.New("alone") }) {
		require.NoError(t, err)
	}
	require.Equal(t, 1, calls)
	together(t, fewTogether-1, nil)
	require.Equal(t, 1, calls, "a few are synced each")
	syncSystem = func(*os.File) error { return errors.New("disk") }
	errs := together(t, 50, func(*os.File) error { return errors.New("its own") })
	require.EqualError(t, errs[0], "its own")
	for _, err := range errs[1:] {
		require.NoError(t, err, "another's error ends no worker")
	}
}
