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

// The watch looks at most every minInterval, and takes at most a share'th of a core.
const (
	minInterval = 200 * time.Millisecond
	share       = 100
)

// watch compares what the processes of a trainer take together with its bounds. The kernel's
// resource limits bound each process by itself, and the number of processes of the user, which for
// root is unbounded.
type watch struct {
	policy policy
	root   int
}

// look returns which bound is passed, or "".
func (w watch) look() string {
	tasks, memory := 0, int64(0)
	all := descendants(w.root)
	for _, pid := range all {
		t, m := taken(pid)
		tasks, memory = tasks+t, memory+m
	}
	if memory > w.policy.MaxMemory && len(all) > 1 {
		memory = 0
		for _, pid := range all {
			memory += proportional(pid)
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

// sizeOf returns the bytes of the files of a folder, counting until there are more than most.
func sizeOf(folder string, most int64) (size int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed since
		}
		const entry = 256 // bytes of an empty file on the disk, about
		size += entry
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			size += info.Size()
		}
		if size > most {
			return filepath.SkipAll
		}
		return nil
	})
	return size
}

// descendants returns the processes below a process.
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

// childrenByParent returns a function that reads the children of a process from its files
// /proc/PID/task/TID/children. ok is false if root has no such file, as in a kernel without
// CONFIG_PROC_CHILDREN.
func childrenByParent(root int) (children func(int) []int, ok bool) {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d/children", root, root)); err != nil {
		return nil, false
	}
	return func(pid int) (found []int) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, path := range threads {
			text, _ := os.ReadFile(path) // gone since
			for _, word := range bytes.Fields(text) {
				if child, err := strconv.Atoi(string(word)); err == nil {
					found = append(found, child)
				}
			}
		}
		return found
	}, true
}

// childrenByScan reads the parent of each process of the machine.
func childrenByScan() func(int) []int {
	below := map[int][]int{}
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range entries {
		text, _ := os.ReadFile(path)
		// pid (name) state parent ...: the name may hold anything
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

// taken returns the threads of a process, and the memory that it does not share with a file.
func taken(pid int) (threads int, memory int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return int(field(status, "Threads:")), 1024 * (field(status, "RssAnon:") + field(status, "RssShmem:") +
		field(status, "VmSwap:"))
}

// proportional returns the bytes of memory that a process does not share with a file. A page that n
// processes share counts as 1/n of a page.
func proportional(pid int) int64 {
	rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	return 1024 * (field(rollup, "Pss_Anon:") + field(rollup, "Pss_Shmem:") + field(rollup, "SwapPss:"))
}

// field returns the number behind a name at the start of a line.
func field(text []byte, name string) int64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			number, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return number
		}
	}
	return 0
}
