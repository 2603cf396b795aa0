package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrBusy means that another worker has the journal. Each of two would sign a gradient of its own
// for a round, which is evidence against their participant.
var ErrBusy = errors.New("another worker uses it")

// lockSuffix is what the name of a journal's lock has behind the journal's. The journal's own file
// is replaced now and then, its lock stays.
const lockSuffix = ".lock"

// Hold holds a folder of journals for this process alone, until it is closed. The file is beside
// it.
func Hold(folder string) (io.Closer, error) {
	f, err := os.OpenFile(folder+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journals: %w", err)
	}
	if err := exclusive(f); err != nil {
		return nil, errors.Join(fmt.Errorf("journals %s: %w; of two workers with one key each would sign for a round: stop the other process", folder, err), f.Close())
	}
	return f, nil
}

// lock holds the journal at a path for this worker alone, until the file is closed.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := exclusive(f); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w; of two workers with one key each would sign for a round: stop the other one", path, err), f.Close())
	}
	return f, nil
}
