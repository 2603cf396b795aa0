package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrBusy means that another process has the lock. Two workers of one participant would sign two
// gradients for a round, and two block signers two votes for a height; both are evidence against
// the participant.
var ErrBusy = errors.New("another process uses it")

// lockSuffix is the suffix of the lock file's name. The lock needs a file of its own, because a
// rewrite replaces the journal's file.
const lockSuffix = ".lock"

// Lock locks a file or folder for this process until the result is closed. The lock file is in the
// same folder.
func Lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := exclusive(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: stop the other process, because both would sign with one key", path,
			err), f.Close())
	}
	return f, nil
}
