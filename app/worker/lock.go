package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrBusy means that another process holds the lock. Two workers of one participant would sign two gradients for a
// round, and two block signers would sign two votes for a height. Either is evidence against the participant.
var ErrBusy = errors.New("another process uses it")

// LockSuffix is the suffix of the lock file's name. The lock is not on the journal's file itself,
// because a rewrite replaces that file.
const LockSuffix = ".lock"

// Lock locks a file or folder for this process until the result is closed. The lock file is beside
// the file or folder, with LockSuffix. Lock fails with ErrBusy if another process holds the lock.
func Lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path+LockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: stop the other process, because both would sign with one key", path,
			err), f.Close())
	}
	return f, nil
}
