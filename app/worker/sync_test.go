package worker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/privacy"
)

// TestJournalIsOnDiskBeforeItsTransactionLeaves: a new file is synced before its rename and its
// folder after it; an appended entry is synced once; storing an entry fails if a sync fails.
func TestJournalIsOnDiskBeforeItsTransactionLeaves(t *testing.T) {
	file, folder := syncFile, syncFolder
	defer func() { syncFile, syncFolder = file, folder }()
	dir := t.TempDir()
	j, err := OpenJournal(filepath.Join(dir, "journal.json"), apptest.ChainID, []byte{1})
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	var synced []string
	syncFile = func(f *os.File) error {
		content, err := os.ReadFile(f.Name())
		if errors.Is(err, os.ErrNotExist) { // the file was renamed
			content, err = os.ReadFile(j.Path)
		}
		require.NoError(t, err)
		require.Equal(t, byte('\n'), content[len(content)-1], "the write comes first")
		synced = append(synced, "file")
		return file(f)
	}
	syncFolder = func(path string) error {
		require.FileExists(t, j.Path, "the rename comes first")
		require.Equal(t, dir, path)
		synced = append(synced, "folder")
		return folder(path)
	}
	gradient, aggregate := apptest.Sign(0, &tx.Gradient{Round: 1}), apptest.Sign(0, &tx.Aggregate{Round: 1})
	require.NoError(t, j.putGradient(gradient, privacy.Snapshot{}, nil, 0))
	require.Equal(t, []string{"file", "folder"}, synced)
	require.NoError(t, j.putAggregate(aggregate))
	require.Equal(t, []string{"file", "folder", "file"}, synced)

	broken := errors.New("disk is gone")
	syncFile = func(*os.File) error { return broken }
	next := apptest.Sign(0, &tx.Gradient{Round: 2})
	require.ErrorIs(t, j.putGradient(next, privacy.Snapshot{}, nil, 0), broken)
	require.Nil(t, j.file, "what follows begins a new file")
	none, err := j.gradient(0, 2)
	require.NoError(t, err)
	require.Nil(t, none, "it is not to be sent")
	syncFile, syncFolder = file, func(string) error { return broken }
	require.ErrorIs(t, j.putGradient(next, privacy.Snapshot{}, nil, 0), broken)
}

// written returns the journal's file after each of several entries, and the content of the journal
// at that time.
func written(t *testing.T) (files [][]byte, said []entry) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.json")
	j, err := OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	keep := func(err error) {
		require.NoError(t, err)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		files, said = append(files, content), append(said, j.Entry)
	}
	for round := range uint64(3) {
		after := privacy.Snapshot{Momentum: []float64{float64(round), -1}, Releases: int(round) + 1, NoiseVariance: 2}
		keep(j.putGradient(apptest.Sign(0, &tx.Gradient{Round: round}), after, []uint64{round, 7}, 0))
		keep(j.putAggregate(apptest.Sign(0, &tx.Aggregate{Round: round})))
		keep(j.putAggregate(apptest.Sign(0, &tx.Aggregate{Round: round, View: 2})))
	}
	return files, said
}

// TestTornJournal: a journal that was cut anywhere has exactly its whole entries, and reports that
// entries may be missing. If it was cut within the first entry, it is damaged.
func TestTornJournal(t *testing.T) {
	files, said := written(t)
	whole := files[len(files)-1]
	path := filepath.Join(t.TempDir(), "journal.json")
	for cut := range len(whole) + 1 {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		j, err := OpenJournal(path, apptest.ChainID, []byte{1})
		if cut < len(files[0]) {
			require.ErrorIs(t, err, ErrDamaged, "cut at %d", cut)
			continue
		}
		require.NoError(t, err, "cut at %d", cut)
		n := 0
		for n+1 < len(files) && len(files[n+1]) <= cut {
			n++
		}
		require.Equal(t, said[n], j.Entry, "cut at %d", cut)
		require.Equal(t, len(files[n]) < cut, j.mayLackGradients(j.Entry.Signed), "cut at %d", cut)
		require.NoError(t, j.Close())
	}
	torn, err := OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err)
	torn.Truncated = true
	require.NoError(t, torn.putAggregate(apptest.Sign(0, &tx.Aggregate{Round: 2, View: 3})))
	require.NoError(t, torn.Close())
	again, err := OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err)
	require.Equal(t, torn.Entry, again.Entry)
	require.False(t, again.mayLackGradients(again.Entry.Signed), "the file was started over")
}

// TestFlippedJournal: no changed byte changes the content of a journal. The journal is then
// damaged, or ends within an entry if the end of its last line was hit.
func TestFlippedJournal(t *testing.T) {
	files, said := written(t)
	whole := files[len(files)-1]
	path := filepath.Join(t.TempDir(), "journal.json")
	for at := range whole {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 0x11
		require.NoError(t, os.WriteFile(path, flipped, 0o600))
		j, err := OpenJournal(path, apptest.ChainID, []byte{1})
		if at < len(whole)-1 {
			require.ErrorIs(t, err, ErrDamaged, "byte %d", at)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, said[len(said)-2], j.Entry)
		require.True(t, j.mayLackGradients(0))
		require.NoError(t, j.Close())
	}
}

// TestJournalIsBegunAnew: the file is rewritten before it grows too large, with the same content.
func TestJournalIsBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.json")
	j, err := OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err)
	momentum := make([]float64, 20_000)
	for round := range uint64(30) {
		require.NoError(t, j.putGradient(apptest.Sign(0, &tx.Gradient{Round: round}), privacy.Snapshot{Momentum: momentum,
			Releases: 1}, nil, 0))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, int64(j.size), info.Size())
		require.Less(t, j.size, mostJournal+400_000)
	}
	require.NoError(t, j.Close())
	again, err := OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err)
	require.Equal(t, j.Entry, again.Entry)
}

// TestAJournalHasOneWorker: while a worker has a journal open, no other worker can open it, whether
// or not the file existed before, and whatever happened to it since. Two workers would sign twice
// for a round.
func TestAJournalHasOneWorker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.json")
	for range 2 {
		j, err := OpenJournal(path, apptest.ChainID, []byte{1})
		require.NoError(t, err)
		for range 2 {
			_, err = OpenJournal(path, apptest.ChainID, []byte{1})
			require.ErrorIs(t, err, ErrBusy)
			require.ErrorContains(t, err, path)
			require.NoError(t, j.putGradient(apptest.Sign(0, &tx.Gradient{}), privacy.Snapshot{}, nil, 0))
		}
		require.NoError(t, j.Close())
	}
	_, err := OpenJournal(path, "another-chain", []byte{1})
	require.ErrorIs(t, err, ErrJournal)
	require.ErrorContains(t, err, path+` is of participant 01 on chain "`+apptest.ChainID+`", and this home's is 01 on `+
		`chain "another-chain": put back`)
	require.ErrorContains(t, err, "move the file away")
	j, err := OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err, "who was refused has released it")
	require.NoError(t, j.Close())
}
