package sandbox

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockVersions lists Landlock's rule sets by ABI version, beginning with version 1.
var landlockVersions = []landlock.Config{landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6}

// scopes is the first Landlock ABI version that confines signals.
const scopes = 6

// abi returns the latest Landlock ABI version that the kernel and this package both support fully,
// or 0 without Landlock.
func abi() int {
	version, err := landlocksys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	// Some kernels before 6.14 also block signals between threads of one process. Unless the kernel
	// reports the fix, this package does not confine signals.
	if errata, err := landlocksys.LandlockGetErrata(); version >= scopes && (err != nil || errata&2 == 0) {
		version = scopes - 1
	}
	return min(version, len(landlockVersions))
}

// Supported returns nil if this system can contain a trainer. If not, it returns an ErrUnsupported
// that names the missing mechanism.
func Supported() error {
	switch {
	case abi() == 0:
		return fmt.Errorf("%w: this kernel has no Landlock (Linux 5.13 and later have it, with CONFIG_SECURITY_LANDLOCK "+
			"and \"landlock\" in the boot parameter lsm=; a container's seccomp profile may also forbid it)", ErrUnsupported)
	// Without a filter argument the call always fails: with EFAULT where the kernel supports filters.
	case unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0) != unix.EFAULT:
		return fmt.Errorf("%w: this kernel has no seccomp filters (CONFIG_SECCOMP_FILTER), or this process may not use "+
			"them", ErrUnsupported)
	}
	return nil
}

// substitutes lists the Landlock ABI versions that add rules, and the substitute for these rules on an older kernel.
var substitutes = []struct {
	abi      int
	kernel   string
	standsIn string
}{
	{2, "5.19", "renaming and linking between folders is forbidden inside the scratch folder too"},
	{3, "6.2", "the system call truncate is forbidden"},
	{4, "6.7", "TCP is forbidden by seccomp alone"},
	{5, "6.10", "requests to devices are bounded by worker.devices alone"},
	{scopes, "6.12", "a process of the trainer may signal itself alone, and what it leaves behind is found by parent"},
}

// Describe returns a description of the mechanisms with which this system confines a trainer. lacks
// has one text for each Landlock rule that this kernel is too old to support.
func Describe() (means string, lacks []string) {
	have := abi()
	for _, m := range substitutes {
		if have < m.abi {
			lacks = append(lacks, fmt.Sprintf("Linux %s: %s", m.kernel, m.standsIn))
		}
	}
	limits := "limits by a control group and the supervisor's count"
	if _, err := delegated(); err != nil {
		limits = "limits by the supervisor's count (no control group is delegated)"
	}
	return fmt.Sprintf("Landlock ABI %d, seccomp, no new privileges, resource limits, %s", have, limits), lacks
}

// machineMemory returns the bytes of memory of this machine, or 0 if they are unknown.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram * uint64(info.Unit))
}
