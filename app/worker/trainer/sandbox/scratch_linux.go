package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// walk sends the bytes of the files in the scratch folder again and again.
func (w *watch) walk(named chan<- int64) {
	for {
		begun := time.Now()
		size, err := w.named()
		if err != nil {
			size = w.policy.MaxFiles + 1 // as too much: files counts again, and reports the error
		}
		named <- size
		time.Sleep(interval(begun))
	}
}

// files returns a text if the files of the trainer exceed their limit, or "". named is the bytes of the files in the
// scratch folder. Files can move away from a look at them. So files counts again, while all processes stand still, if
// it was too much, or if more is gone from the file system than was found. Others may have taken that.
func (w *watch) files(named int64) string {
	size, now := named+w.unnamed, freeBytes(w.policy.Scratch)
	w.free = max(w.free, now+size)
	if max(size, w.free-now-size) <= w.policy.MaxFiles {
		return ""
	}
	w.signal(unix.SIGSTOP)
	defer w.signal(unix.SIGCONT)
	time.Sleep(standStill)
	_, err := w.survey(descendants(w.root))
	if err == nil {
		named, err = w.named()
	}
	size = named + w.unnamed
	w.free = freeBytes(w.policy.Scratch) + size
	switch {
	case err != nil:
		return fmt.Sprintf("its files cannot be counted: %.300q", err)
	case size > w.policy.MaxFiles:
		return fmt.Sprintf("its scratch folder holds %d bytes or more, worker.trainer_scratch is %d", size, w.policy.MaxFiles)
	}
	return ""
}

// standStill is the time in which running threads stop after the signal.
const standStill = 10 * time.Millisecond

// freeBytes returns the free bytes of the file system of a folder.
func freeBytes(folder string) int64 {
	var s unix.Statfs_t
	_ = unix.Statfs(folder, &s)
	return int64(s.Bfree) * s.Bsize
}

// named returns the bytes of the files in the scratch folder. It stops when they exceed the limit, and
// fails if it cannot count a file.
func (w *watch) named() (size int64, err error) {
	err = filepath.WalkDir(w.policy.Scratch, func(_ string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		if err != nil {
			return unlessGone(err)
		}
		if size += sizeOf(info); size > w.policy.MaxFiles {
			return filepath.SkipAll
		}
		return nil
	})
	return size, err
}

// unlessGone returns the error, or nil if it says that a file does not exist any more.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sizeOf returns the bytes that a file takes of a disk: at least a block for the file itself.
func sizeOf(info fs.FileInfo) int64 {
	const block = 4096
	return max(block, info.Size(), 512*info.Sys().(*syscall.Stat_t).Blocks)
}

// removeScratch removes a scratch folder after the end of the trainer, whatever modes the folders in it
// have and however deep they are: what a folder holds moves up before the folder is removed.
func removeScratch(scratch string) error {
	for {
		entries, err := os.ReadDir(scratch)
		if err != nil || len(entries) == 0 {
			return errors.Join(err, os.Remove(scratch))
		}
		for _, e := range entries {
			path := filepath.Join(scratch, e.Name())
			if e.IsDir() {
				err = moveUp(path, scratch)
			}
			if err = errors.Join(err, os.Remove(path)); err != nil {
				return err
			}
		}
	}
}

// moveUp moves the folders of a folder to another one, under new names, and removes its files.
func moveUp(folder, to string) error {
	if err := os.Chmod(folder, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if !e.IsDir() {
			err = errors.Join(err, os.Remove(path))
			continue
		}
		name, failed := os.MkdirTemp(to, "")
		// Only a folder that may be changed can move: its entry ".." changes.
		err = errors.Join(err, failed, os.Chmod(path, 0o700), unix.Rename(path, name))
	}
	return err
}
