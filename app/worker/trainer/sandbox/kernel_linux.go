package sandbox

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// levels are Landlock's rule sets by ABI, from the first.
var levels = []landlock.Config{landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6}

// scopes is the first ABI that confines signals.
const scopes = 6

// abi returns the ABI of the kernel's Landlock of which this package can use all, or 0.
func abi() int {
	version, err := landlocksys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	// some kernels before 6.14 confine signals between threads of one process too
	if errata, err := landlocksys.LandlockGetErrata(); version >= scopes && (err != nil || errata&2 == 0) {
		version = scopes - 1
	}
	return min(version, len(levels))
}

// Supported returns nil if this system can contain a trainer, and otherwise an ErrUnsupported that
// says what is missing.
func Supported() error {
	switch {
	case abi() == 0:
		return fmt.Errorf("%w: this kernel has no Landlock (Linux 5.13 and later have it, with CONFIG_SECURITY_LANDLOCK "+
			"and \"landlock\" in the boot parameter lsm=; a container's seccomp profile may also forbid it)", ErrUnsupported)
	// without a filter this fails in any case, for lack of the filter where it is known
	case unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0) != unix.EFAULT:
		return fmt.Errorf("%w: this kernel has no seccomp filters (CONFIG_SECCOMP_FILTER), or this process may not use "+
			"them", ErrUnsupported)
	}
	return nil
}

// missing are the rules of later Landlock ABIs, and what stands in for each.
var missing = []struct {
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

// Describe says by which mechanisms a trainer is contained here, and for each that a later kernel
// would add, which kernel that is.
func Describe() (means string, lacks []string) {
	have := abi()
	for _, m := range missing {
		if have < m.abi {
			lacks = append(lacks, fmt.Sprintf("Linux %s: %s", m.kernel, m.standsIn))
		}
	}
	return fmt.Sprintf("Landlock ABI %d, seccomp, no new privileges, resource limits", have), lacks
}

// machineMemory returns the bytes of memory of this machine.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram * uint64(info.Unit))
}
