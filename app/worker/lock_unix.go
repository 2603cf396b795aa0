//go:build unix

package worker

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file while it is open. The lock also ends with the process, even if the process
// is killed. lockFile returns ErrBusy if the file is already locked.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}
