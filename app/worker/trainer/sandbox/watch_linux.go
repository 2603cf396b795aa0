package sandbox

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// The supervisor checks the limits at intervals of at least minInterval, and uses at most
// 1/checkShare of a core for the checks.
const (
	minInterval = 200 * time.Millisecond
	checkShare  = 100
)

// watch compares the total use of all processes of a trainer with the limits. The kernel's resource
// limits are not enough: they bound the memory of each process separately, and they do not bound
// the number of processes of root.
type watch struct {
	policy policy
	root   int // the process id of the supervisor
}

// check returns a text about the first limit that is exceeded, or "".
func (w watch) check() string {
	tasks, memory := 0, int64(0)
	all := descendants(w.root)
	for _, pid := range all {
		t, m := usage(pid)
		tasks, memory = tasks+t, memory+m
	}
	if memory > w.policy.MaxMemory && len(all) > 1 {
		memory = 0
		for _, pid := range all {
			memory += proportionalMemory(pid)
		}
	}
	switch {
	case tasks > w.policy.MaxTasks:
		return fmt.Sprintf("it has %d processes and threads, worker.trainer_processes is %d", tasks, w.policy.MaxTasks)
	case memory > w.policy.MaxMemory:
		return fmt.Sprintf("it takes %d bytes of memory, worker.trainer_memory is %d", memory, w.policy.MaxMemory)
	}
	if size := sizeOf(w.policy.Scratch, w.policy.MaxFiles); size > w.policy.MaxFiles {
		return fmt.Sprintf("its scratch folder holds %d bytes or more, worker.trainer_scratch is %d", size, w.policy.MaxFiles)
	}
	return ""
}

// sizeOf returns the total size of the files in the given folder, in bytes. It stops when the size
// exceeds maxSize.
func sizeOf(folder string, maxSize int64) (size int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // the file may have been removed
		}
		const entry = 256 // the approximate disk space of an empty file, in bytes
		size += entry
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			size += info.Size()
		}
		if size > maxSize {
			return filepath.SkipAll
		}
		return nil
	})
	return size
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

// childrenByParent returns a function that reads the children of a process from the files
// /proc/PID/task/TID/children. ok is false if root has no such file, as in a kernel without
// CONFIG_PROC_CHILDREN.
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

// usage returns the number of threads of a process, and the bytes of its memory that are not shared
// with a file.
func usage(pid int) (threads int, memory int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return int(field(status, "Threads:")), 1024 * (field(status, "RssAnon:") + field(status, "RssShmem:") +
		field(status, "VmSwap:"))
}

// proportionalMemory returns the bytes of a process's memory that are not shared with a file. A
// page that n processes share counts as 1/n of a page.
func proportionalMemory(pid int) int64 {
	rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	return 1024 * (field(rollup, "Pss_Anon:") + field(rollup, "Pss_Shmem:") + field(rollup, "SwapPss:"))
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
