package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// survey looks at the descriptors and mappings of processes. It returns the bytes that the kernel keeps for them, and
// sets w.unnamed. The size of a file that is mapped and that no descriptor shows is unknown, and counts as too much.
func (w *watch) survey(processes []int) (kernel int64, err error) {
	h := holdings{scratch: w.policy.Scratch + "/", socket: w.socket, seen: map[string]bool{}, mapped: map[string]bool{}}
	for _, pid := range processes {
		if err := inThread(pid, h.process); err != nil {
			return 0, err
		}
	}
	for inode := range h.mapped {
		if !h.seen[inode] {
			h.unnamed = w.policy.MaxFiles + 1
		}
	}
	w.unnamed = h.unnamed
	return h.kernel, nil
}

// holdings adds up what processes hold by descriptors and mappings.
type holdings struct {
	scratch string // the scratch folder, with a slash
	socket  int64  // the most bytes that the kernel keeps for a socket
	// kernel is the number of bytes that the kernel keeps for pipes, sockets and mappings, each taken for
	// full, and unnamed the bytes of files that have no name in the scratch folder any more.
	kernel, unnamed int64
	seen            map[string]bool // the pipes, the sockets and the inodes of unnamed files that are counted
	mapped          map[string]bool // the inodes of mapped files without a name
}

// process adds a process, whose folder in /proc is given.
func (h *holdings) process(folder string, _ []byte) error {
	maps, err := os.ReadFile(folder + "/maps")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(maps) {
		const mapping = 256
		h.kernel += mapping
		if text := string(line); strings.Contains(text, h.scratch) && strings.HasSuffix(text, unnamed+"\n") {
			h.mapped[strings.Fields(text)[4]] = true
		}
	}
	entries, err := os.ReadDir(folder + "/fd")
	for _, e := range entries {
		if err == nil {
			err = unlessGone(h.descriptor(folder + "/fd/" + e.Name())) // it may have been closed
		}
	}
	return err
}

// unnamed ends the path of a file without a name in /proc.
const unnamed = " (deleted)"

// descriptor adds a descriptor, whose link in /proc is given.
func (h *holdings) descriptor(path string) error {
	link, err := os.Readlink(path)
	if err != nil || h.seen[link] {
		return err
	}
	const pages = 16 // the length of a pipe
	switch {
	case strings.HasPrefix(link, "pipe:"):
		h.kernel, h.seen[link] = h.kernel+int64(pages*os.Getpagesize()), true
	case strings.HasPrefix(link, "socket:"):
		h.kernel, h.seen[link] = h.kernel+h.socket, true
	case strings.HasPrefix(link, h.scratch) && strings.HasSuffix(link, unnamed):
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if inode := strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10); !h.seen[inode] {
			h.unnamed, h.seen[inode] = h.unnamed+sizeOf(info), true
		}
	}
	return nil
}
