package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrBusy means that another process has the lock. Two workers would each sign a gradient for a
// round, and two signers a vote for a height, which is evidence against their participant.
var ErrBusy = errors.New("another process uses it")

// lockSuffix is appended to a file's name to name its lock file. The lock has a file of its own
// because a journal's file is replaced now and then.
const lockSuffix = ".lock"

// Lock locks a file or folder for this process until the result is closed. The lock file is beside
// it.
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
