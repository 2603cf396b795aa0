package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrBusy means that another worker uses the journal. Two workers would each sign a gradient for a
// round, which is evidence against their participant.
var ErrBusy = errors.New("another worker uses it")

// lockSuffix is appended to a journal's name to name its lock file. The lock has a file of its own
// because the journal's file is replaced now and then.
const lockSuffix = ".lock"

// Hold locks a folder of journals for this process until the result is closed. The lock file is
// beside the folder.
func Hold(folder string) (io.Closer, error) {
	f, err := os.OpenFile(folder+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journals: %w", err)
	}
	if err := exclusive(f); err != nil {
		return nil, errors.Join(fmt.Errorf("journals %s: %w; of two workers with one key each would sign for a round: "+
			"stop the other process", folder, err), f.Close())
	}
	return f, nil
}

// lock locks the journal at a path for this worker until the file is closed.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := exclusive(f); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w; of two workers with one key each would sign for a round: stop "+
			"the other one", path, err), f.Close())
	}
	return f, nil
}
