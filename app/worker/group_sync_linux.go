package worker

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// syncSystem syncs all writes to a file's file system to the disk. Tests replace it.
var syncSystem = func(f *os.File) error {
	if !tellsErrors() {
		return errors.ErrUnsupported
	}
	return unix.Syncfs(int(f.Fd()))
}

// tellsErrors reports whether syncfs(2) returns the errors of earlier writes, as it does since
// Linux 5.8.
var tellsErrors = sync.OnceValue(func() bool {
	var name unix.Utsname
	var major, minor int
	if unix.Uname(&name) != nil {
		return false
	}
	n, _ := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return n == 2 && (major > 5 || major == 5 && minor >= 8)
})
