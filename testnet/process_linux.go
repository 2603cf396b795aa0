package testnet

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bound makes a child end with the thread that starts it. It also keeps the terminal's Ctrl-C from
// the child, because its parent stops it in order.
func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// peakOf returns the peak resident memory of an ended process, in bytes. If the parent's memory at
// the start was higher, peakOf returns that, because the kernel keeps the peak across exec.
func peakOf(s *os.ProcessState) int64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}

// peakOfPID returns the peak resident memory, in bytes, of a running process, 0 if it cannot be read.
func peakOfPID(pid int) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(data, []byte("VmHWM:"))
	var kib int64 // stays 0 without a number
	_, _ = fmt.Sscan(string(rest), &kib)
	return kib << 10
}

// cpuOfPID returns the CPU time of a running process, 0 if it cannot be read.
func cpuOfPID(pid int) time.Duration {
	const allThreads = 2 // CPUCLOCK_SCHED of a process, as clock_getcpuclockid(3) makes it
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|allThreads), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// starve sets the file size limit of a process to 0: from then on every write to a file fails with
// EFBIG, even with space on the disk.
func starve(pid int) error {
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{}, nil)
}
