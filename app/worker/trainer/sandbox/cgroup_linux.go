package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cgroups is the folder of the system's control groups of version 2.
const cgroups = "/sys/fs/cgroup"

// delegated returns the folder of the control group in which this process may make groups with limits of
// memory and processes: the parent of its own group. systemd delegates that one with Delegate= and
// DelegateSubgroup=. root may change all groups, so for root the group must be marked as delegated.
func delegated() (folder string, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "0::/")
	if !ok || own == "" || strings.HasPrefix(own, "..") || strings.Contains(own, "\n") {
		return "", fmt.Errorf("the control groups %q are none of version 2 with a parent", text)
	}
	folder = filepath.Join(cgroups, filepath.Dir(own))
	if os.Getuid() == 0 {
		if _, err := unix.Getxattr(folder, "user.delegate", make([]byte, 8)); err != nil {
			return "", fmt.Errorf("%s is not delegated: %w", folder, err)
		}
	}
	return folder, writeGroup(folder, "cgroup.subtree_control", "+memory +pids")
}

func writeGroup(folder, name, value string) error {
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// newGroup makes a control group with the limits of a policy, and opens its folder. It returns nil if
// none is delegated.
func newGroup(p policy) (*os.File, error) {
	parent, err := delegated()
	if err != nil {
		return nil, nil
	}
	folder, err := os.MkdirTemp(parent, "spdl-trainer-")
	if err != nil {
		return nil, err
	}
	err = errors.Join(writeGroup(folder, "memory.max", strconv.FormatInt(p.MaxMemory, 10)),
		writeGroup(folder, "memory.oom.group", "1"), writeGroup(folder, "pids.max", strconv.Itoa(p.MaxTasks)))
	if err != nil {
		return nil, errors.Join(err, os.Remove(folder))
	}
	return os.Open(folder)
}

// removeGroup removes a control group, all of whose processes have ended. exceeded reports whether the
// kernel has ended them because of their memory.
func removeGroup(group *os.File) (exceeded bool) {
	if group == nil {
		return false
	}
	events, _ := os.ReadFile(filepath.Join(group.Name(), "memory.events"))
	_, _ = group.Close(), os.Remove(group.Name())
	return field(events, "oom_kill ") > 0
}
