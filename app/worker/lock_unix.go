//go:build unix

package worker

import (
	"errors"
	"os"
	"syscall"
)

// exclusive locks a file for as long as it is open. The lock ends with the process, however that
// ends. It returns ErrBusy where another has it.
func exclusive(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}
