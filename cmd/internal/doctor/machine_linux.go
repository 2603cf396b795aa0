package doctor

import (
	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/abci/home"
)

// machine holds the functions that query the Linux kernel.
var machine = System{Free: home.FreeBytes, Descriptors: fileLimit, Synced: clockSynced, Contains: home.Containment}

// clockSynced asks the kernel whether a time service disciplines its clock.
func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return err == nil && state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, err
}
