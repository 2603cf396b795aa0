package sandbox

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// forbidden lists the system calls that a trainer may not make. Each fails with EPERM. A name
// without a number on this architecture is skipped. System calls without a name in package arch's
// table, and system calls of another architecture or of x32, fail with ENOSYS.
var forbidden = []string{
	// networks of every family
	"socket", "bind", "connect", "listen", "accept", "accept4", "sendmmsg", "recvmmsg",
	// files that only a message holds, sockets that hold more than their default, and filters of the trainer's own
	"sendmsg", "setsockopt", "seccomp",
	// I/O that bypasses the filter
	"io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd",
	// access to other processes of the same user
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_open",
	"pidfd_getfd", "pidfd_send_signal", "setpriority", "ioprio_set", "sched_setscheduler", "sched_setparam",
	"sched_setattr", "move_pages", "migrate_pages", "get_robust_list", "perf_event_open",
	// memory and messages that outlive a process, or that no limit counts
	"shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv",
	"msgctl", "mq_open", "mq_unlink", "memfd_create", "memfd_secret", "add_key", "request_key", "keyctl",
	// changes of file attributes and lengths, which Landlock does not restrict
	"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr",
	"fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "utime", "utimes",
	"utimensat", "futimesat", "truncate", "file_setattr",
	// notifications about files outside of the sandbox
	"inotify_init", "inotify_init1", "fanotify_init", "fanotify_mark", "name_to_handle_at", "open_by_handle_at",
	"lookup_dcookie",
	// namespaces and mounts
	"unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
	"open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "mknod", "mknodat",
	// control of the machine
	"bpf", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon",
	"swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
	"sethostname", "setdomainname", "iopl", "ioperm", "vhangup", "personality", "nfsservctl", "sysfs", "uselib", "ustat",
	"_sysctl", "modify_ldt",
}

// absent lists the system calls that fail with ENOSYS, so that libraries use others. Without clone3
// they use clone, whose flags the filter can read. The calls that move pages could keep pages that no
// process maps and no file holds. Extended attributes and the list of mounts are not restricted by
// Landlock. A Landlock rule set of the trainer's own holds memory that no process shows.
var absent = []string{"clone3", "vmsplice", "splice", "tee", "sendfile", "getxattr", "lgetxattr", "fgetxattr",
	"getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat", "statmount", "listmount",
	"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}

// namespaces holds the flags of clone that make a namespace.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// fullMask is the mask of a check of a whole argument. It has 32 bits, because the kernel uses only
// the lower half of each argument that is checked.
const fullMask = math.MaxUint32

// check is a condition on one argument of a system call: the bits of the argument that are in mask
// must equal one of the values, or with not set none of them.
type check struct {
	argument uint32
	mask     uint32
	values   []uint32
	not      bool
}

// socketRequests is the type of the requests to ioctl that are about sockets and network cards, and
// maskOfType are the bits of the type.
const (
	socketRequests = 0x8900
	maskOfType     = 0xff00
)

// checkedCalls returns the system calls that are allowed only if their arguments pass all checks.
func checkedCalls() map[string][]check {
	calls := map[string][]check{
		// All threads of a process share its descriptors, so that the supervisor sees them in any thread.
		"clone": {{argument: 0, mask: namespaces | unix.CLONE_THREAD | unix.CLONE_FILES,
			values: []uint32{0, unix.CLONE_FILES, unix.CLONE_THREAD | unix.CLONE_FILES}}},
		"prlimit64":         {{argument: 0, mask: fullMask, values: []uint32{0}}}, // 0 is the calling process
		"sched_setaffinity": {{argument: 0, mask: fullMask, values: []uint32{0}}},
		// Shared memory without a file stays when it is unmapped, and belongs to no process then.
		"mmap": {{argument: 3, mask: unix.MAP_TYPE | unix.MAP_ANONYMOUS,
			values: []uint32{unix.MAP_SHARED, unix.MAP_SHARED_VALIDATE, unix.MAP_PRIVATE,
				unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}}},
		// Leases and notices are about files that others use, a larger pipe holds more than is counted, and
		// the owner of a descriptor is sent any signal that F_SETSIG names.
		"fcntl": {{argument: 1, mask: fullMask, not: true,
			values: []uint32{unix.F_SETLEASE, unix.F_NOTIFY, unix.F_SETPIPE_SZ, unix.F_SETOWN, unix.F_SETOWN_EX}}},
		// A process that is not dumpable hides from the supervisor: with docs/spdl.service, even its children.
		// Filters of the trainer's own hold memory that no process shows.
		"prctl": {{argument: 0, mask: fullMask, not: true, values: []uint32{unix.PR_SET_DUMPABLE, unix.PR_SET_SECCOMP}}},
		"ioctl": {{argument: 1, mask: maskOfType, not: true, values: []uint32{socketRequests}}},
		// A connected pair of stream sockets cannot reach other processes. A datagram socket can send to any path.
		"socketpair": {{argument: 0, mask: fullMask, values: []uint32{unix.AF_UNIX}},
			{argument: 1, mask: fullMask &^ (unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK), values: []uint32{unix.SOCK_STREAM}}},
	}
	if abi() < scopes {
		self := uint32(os.Getpid())
		calls["kill"] = []check{{argument: 0, mask: fullMask, values: []uint32{self, 0}}} // 0 is the caller's own group
		for _, name := range []string{"tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"} {
			calls[name] = []check{{argument: 0, mask: fullMask, values: []uint32{self}}}
		}
		calls["tkill"] = []check{{argument: 0, mask: fullMask}} // any thread: never allowed
	}
	return calls
}

// installFilter installs a seccomp filter in the calling thread, and so in every program that the thread executes. The
// filter rejects the forbidden calls, and the calls of checkedCalls whose arguments fail a check.
func installFilter() error {
	here, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	raw, err := bpf.Assemble(instructions(here))
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	// seccomp(2) is not used, because systemd's @system-service does not allow it.
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if err != nil {
		return fmt.Errorf("PR_SET_SECCOMP: %w", err)
	}
	return nil
}

// These are the results of the filter for a system call. A program that gets ENOSYS assumes an older kernel.
const (
	retAllow  = unix.SECCOMP_RET_ALLOW
	retDeny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retAbsent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// These are offsets in struct seccomp_data on little-endian machines.
const (
	atNumber    = 0
	atArch      = 4
	atArguments = 16
)

// instructions returns the filter for an architecture. Linux 5.11 and later cache the system calls
// that the filter always allows, and run the filter only for other calls.
func instructions(here *arch.Info) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(here.ID), SkipTrue: 1},
		bpf.RetConstant{Val: retAbsent},
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
	}
	calls := checkedCalls()
	for _, name := range slices.Sorted(maps.Keys(here.SyscallNames)) {
		number := uint32(here.SyscallNames[name])
		checks, partial := calls[name]
		switch {
		case partial:
			program = append(program, ofCall(number, checkInstructions(checks))...)
		case slices.Contains(forbidden, name):
			program = append(program, ofCall(number, []bpf.Instruction{bpf.RetConstant{Val: retDeny}})...)
		case !slices.Contains(absent, name):
			program = append(program, ofCall(number, []bpf.Instruction{bpf.RetConstant{Val: retAllow}})...)
		}
	}
	return append(program, bpf.RetConstant{Val: retAbsent})
}

// ofCall returns a program for the system call with the given number. If the accumulator holds that
// number, the program executes the instructions of then, the last of which must return a result.
func ofCall(number uint32, then []bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(then))}}, then...)
}

// checkInstructions returns the instructions that allow a call if its arguments pass all checks.
func checkInstructions(checks []check) (program []bpf.Instruction) {
	for _, c := range checks {
		program = append(program, bpf.LoadAbsolute{Off: atArguments + 8*c.argument, Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
		for i, value := range c.values { // a value skips one instruction behind the last comparison
			program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(len(c.values) - i)})
		}
		if c.not {
			program = append(program, bpf.Jump{Skip: 1})
		}
		program = append(program, bpf.RetConstant{Val: retDeny})
	}
	return append(program, bpf.RetConstant{Val: retAllow})
}
