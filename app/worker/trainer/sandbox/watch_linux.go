package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The supervisor looks at the processes, and at the files, at intervals of minInterval to maxInterval.
// Within these bounds it uses at most 1/checkShare of a core for each.
const (
	minInterval = 200 * time.Millisecond
	maxInterval = time.Second
	checkShare  = 100
)

// interval returns the time to wait after a check that began at the given time.
func interval(begun time.Time) time.Duration {
	return min(max(minInterval, checkShare*time.Since(begun)), maxInterval)
}

// watch compares the total use of all processes of a trainer with the limits. The kernel's resource
// limits are not enough: they bound the memory of each process separately, and they do not bound
// the number of processes of root. Only the supervisor's first thread may read the processes' files in
// /proc and send them signals, because Landlock's scope is a thread's.
type watch struct {
	policy  policy
	root    int                  // the process id of the supervisor
	signal  func(syscall.Signal) // sends a signal to all processes of the trainer
	socket  int64                // the most bytes that the kernel keeps for a socket
	free    int64                // the free bytes of the scratch folder's file system if the folder were empty
	unnamed int64                // the bytes of files without a name, by the last look at the processes
}

// newWatch returns a watch of the supervisor's descendants. The scratch folder is still empty.
func (s *supervisor) newWatch() *watch {
	w := &watch{policy: s.policy, root: os.Getpid(), signal: s.signal, free: freeBytes(s.policy.Scratch), socket: 1 << 20}
	if pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
		if size, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF); err == nil {
			w.socket = 2 * int64(size) // the last packet may exceed the buffer
		}
		_, _ = unix.Close(pair[0]), unix.Close(pair[1])
	}
	return w
}

// processes returns a text if the processes exceed a limit of their number or memory, or "".
func (w *watch) processes() string {
	all := descendants(w.root)
	kernel, err := w.survey(all)
	if err != nil {
		return fmt.Sprintf("what it holds cannot be counted: %.300q", err)
	}
	tasks, memory := 0, kernel
	for _, pid := range all {
		_, status := thread(pid)
		tasks += int(field(status, "Threads:"))
		memory += unshared(status) + 1024*(field(status, "RssAnon:")+field(status, "RssShmem:"))
	}
	if memory > w.policy.MaxMemory && len(all) > 1 {
		memory = kernel
		for _, pid := range all {
			err = errors.Join(err, inThread(pid, func(folder string, status []byte) error {
				rollup, err := os.ReadFile(folder + "/smaps_rollup") // a page that n processes share is 1/n of a page here
				memory += unshared(status) + 1024*(field(rollup, "Pss_Anon:")+field(rollup, "Pss_Shmem:"))
				return err
			}))
		}
	}
	switch {
	case err != nil:
		return fmt.Sprintf("its memory cannot be counted: %.300q", err)
	case tasks > w.policy.MaxTasks:
		return fmt.Sprintf("it has %d processes and threads, worker.trainer_processes is %d", tasks, w.policy.MaxTasks)
	case memory > w.policy.MaxMemory:
		return fmt.Sprintf("it takes %d bytes of memory, worker.trainer_memory is %d", memory, w.policy.MaxMemory)
	}
	return ""
}

// unshared returns the bytes of a process's page tables and of its memory in swap space.
func unshared(status []byte) int64 {
	return 1024 * (field(status, "VmPTE:") + field(status, "VmSwap:"))
}

// thread returns the folder in /proc of a thread that has the memory and the descriptors of a process, and the text of
// the thread's status. The first thread may have ended before the others. If all have ended, folder is "".
func thread(pid int) (folder string, status []byte) {
	folder = fmt.Sprintf("/proc/%d", pid)
	first, _ := os.ReadFile(folder + "/status")
	if field(first, "VmPTE:") > 0 {
		return folder, first
	}
	others, _ := filepath.Glob(folder + "/task/*")
	for _, folder := range others {
		if status, _ := os.ReadFile(folder + "/status"); field(status, "VmPTE:") > 0 {
			return folder, status
		}
	}
	return "", first
}

// inThread calls read with the folder and the status of a thread of a process. An error counts only
// if it comes again while the process has not ended: the trainer may hide nothing from the supervisor.
func inThread(pid int, read func(folder string, status []byte) error) (err error) {
	for range 3 {
		folder, status := thread(pid)
		if folder == "" {
			return nil
		}
		if err = read(folder, status); err == nil {
			return nil
		}
	}
	return err
}

// descendants returns the ids of all descendants of a process.
func descendants(root int) (found []int) {
	children, ok := childrenByParent(root)
	if !ok {
		children = childrenByScan()
	}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		below := children(queue[0])
		found, queue = append(found, below...), append(queue, below...)
	}
	return found
}

// childrenByParent returns a function that reads the children of a process from the files /proc/PID/task/TID/children.
// ok is false if root has no such file, as in a kernel without CONFIG_PROC_CHILDREN.
func childrenByParent(root int) (children func(int) []int, ok bool) {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d/children", root, root)); err != nil {
		return nil, false
	}
	return func(pid int) (found []int) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, path := range threads {
			text, _ := os.ReadFile(path) // the process may have ended
			for _, word := range bytes.Fields(text) {
				if child, err := strconv.Atoi(string(word)); err == nil {
					found = append(found, child)
				}
			}
		}
		return found
	}, true
}

// childrenByScan reads the parent of every process on the machine, and returns a function from a
// process to its children.
func childrenByScan() func(int) []int {
	below := map[int][]int{}
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range entries {
		text, _ := os.ReadFile(path)
		// The format is: pid (name) state parent ... The name may contain any character, so the
		// fields begin after the last parenthesis.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			below[parent] = append(below[parent], pid)
		}
	}
	return func(pid int) []int { return below[pid] }
}

// field returns the number that follows the given name at the start of a line of text. If no line
// begins with the name, it returns 0.
func field(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			number, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return number
		}
	}
	return 0
}
