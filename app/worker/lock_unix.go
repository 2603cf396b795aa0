//go:build unix

package worker

import (
	"errors"
	"os"
	"syscall"
)

// exclusive locks a file for as long as it is open. The lock ends with the process, however the
// process ends. It returns ErrBusy if the file is already locked.
func exclusive(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}
