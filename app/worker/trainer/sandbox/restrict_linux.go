package sandbox

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// confine restricts this process, and executes the trainer in its place. The restrictions cannot be
// undone. confine returns only if it fails.
func confine() error {
	runtime.LockOSThread() // filter and capabilities belong to a thread, and the thread executes the trainer
	var p policy
	if err := json.NewDecoder(os.NewFile(lifelineFD, "policy")).Decode(&p); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if err := os.Chdir(p.Dir); err != nil {
		return err
	}
	// If memory runs out, the kernel should kill the trainer and not the node.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("800"), 0)
	processes := p.MaxTasks + tasksOfUser()
	secrets, err := listSecrets(p.Secret)
	if err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := restrictFiles(p); err != nil {
		return err
	}
	if err := unix.CloseRange(lifelineFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	if err := installFilter(); err != nil {
		return err
	}
	if err := setLimits(p, processes); err != nil {
		return err
	}
	if err := checkClosed(secrets); err != nil {
		return err
	}
	err = syscall.Exec(p.Argv[0], p.Argv, os.Environ())
	return &os.PathError{Op: "exec", Path: p.Argv[0], Err: err}
}

// dropCapabilities removes all capabilities from this thread, even if the thread runs as root. restrictFiles sets the
// kernel's no_new_privs flag, so that no program that the thread executes regains capabilities.
func dropCapabilities() error {
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none, has [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err != nil || has == none {
		return err // under docs/spdl.service a process has no capabilities, and may not call capset
	}
	return unix.Capset(&header, &none[0])
}

// scratchRights holds the rights on the scratch folder. The trainer may not execute files in it,
// and may not make devices or sockets in it.
const scratchRights = landlocksys.AccessFSReadFile | landlocksys.AccessFSReadDir | landlocksys.AccessFSWriteFile |
	landlocksys.AccessFSRemoveDir | landlocksys.AccessFSRemoveFile | landlocksys.AccessFSMakeDir |
	landlocksys.AccessFSMakeReg | landlocksys.AccessFSMakeSym | landlocksys.AccessFSMakeFifo

// plainDevices lists the devices that every program may read. It may write to /dev/null. A mapping of
// /dev/zero that may be written would be shared memory without a file.
var plainDevices = []string{"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// ofProcess lists the files in /proc that the trainer's first process may read about itself. The
// folders net and ns there, and mountinfo, are about the host.
var ofProcess = []string{"auxv", "cmdline", "comm", "environ", "limits", "maps", "smaps", "smaps_rollup", "stat",
	"statm", "status", "fd"}

// restrictFiles applies a Landlock rule set to this process. The rule set restricts access to files, and also TCP,
// abstract Unix sockets and signals if the kernel's Landlock supports these restrictions.
func restrictFiles(p policy) error {
	level := abi()
	if level == 0 {
		return Supported()
	}
	own := landlock.AccessFSSet(scratchRights)
	if level >= 2 {
		own |= landlocksys.AccessFSRefer
	}
	if level >= 3 {
		own |= landlocksys.AccessFSTruncate
	}
	rules := []landlock.Rule{landlock.PathAccess(own, p.Scratch), landlock.RWFiles(os.DevNull),
		landlock.PathAccess(landlocksys.AccessFSReadDir, "/proc/self/task")}
	read := append(slices.Clone(system), plainDevices...)
	for _, name := range ofProcess {
		read = append(read, "/proc/self/"+name)
	}
	if len(p.Devices) > 0 {
		read = append(read, ofDevices...)
	}
	for _, path := range append(read, p.Read...) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			rules = append(rules, landlock.RODirs(path))
		} else if err == nil {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	for _, device := range p.Devices {
		if info, err := os.Stat(device); err != nil {
			return fmt.Errorf("worker.devices: %w", err)
		} else if info.Mode()&os.ModeDevice == 0 {
			return fmt.Errorf("worker.devices: %s is no device", device)
		}
		rules = append(rules, landlock.RWFiles(device).WithIoctlDev())
	}
	return landlockVersions[level-1].Restrict(rules...)
}

// tasksOfUser returns the number of processes and threads of this process's user. The kernel's
// limit counts all of them, not only those of the trainer.
func tasksOfUser() (tasks int) {
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range all {
		status, _ := os.ReadFile(path) // the process may have ended
		if int(field(status, "Uid:")) == os.Getuid() {
			tasks += int(field(status, "Threads:"))
		}
	}
	return tasks
}

// setLimits sets the resource limits, which apply to each process of the trainer.
func setLimits(p policy, processes int) error {
	for _, l := range []struct {
		name     string
		resource int
		most     int64
	}{
		{"memory", unix.RLIMIT_DATA, p.MaxMemory},
		{"file size", unix.RLIMIT_FSIZE, p.MaxFiles},
		{"core", unix.RLIMIT_CORE, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"processes", unix.RLIMIT_NPROC, int64(processes)},
		{"descriptors", unix.RLIMIT_NOFILE, MaxDescriptors},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("limit of %s: %w", l.name, err)
		}
		most := min(uint64(l.most), now.Max)
		// Setrlimit of package unix is not used: Go would restore the limit on descriptors before it executes the trainer.
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit of %s: %w", l.name, err)
		}
	}
	return nil
}
