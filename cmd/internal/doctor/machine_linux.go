package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// machine asks the kernel.
var machine = System{Free: free, Descriptors: fileLimit, Synced: clockSynced, Landlock: landlockABI,
	Seccomp: hasSeccomp}

// clockSynced asks the kernel whether a time service disciplines its clock.
func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return err == nil && state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, err
}

// landlockABI returns the version of Landlock, 0 if the kernel has none or it is off.
func landlockABI() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, nil
	}
	return int(version), nil
}

func hasSeccomp() bool {
	_, err := os.Stat("/proc/sys/kernel/seccomp/actions_avail")
	return err == nil
}
