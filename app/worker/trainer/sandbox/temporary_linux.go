package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Temporary makes a folder for temporary files, and returns what removes it, whatever modes the folders in
// it have by then. The process locks the folder until then. Temporary first removes the folders of the
// same prefix and user that are not locked: a killed process left them behind.
func Temporary(prefix string) (folder string, remove func() error, err error) {
	left, _ := os.ReadDir(os.TempDir())
	for _, e := range left {
		if strings.HasPrefix(e.Name(), prefix) {
			removeLeft(filepath.Join(os.TempDir(), e.Name()))
		}
	}
	for {
		if folder, err = os.MkdirTemp("", prefix); err != nil {
			return "", nil, err
		}
		fd, err := openFolder(folder)
		if err == nil {
			_ = unix.Flock(fd, unix.LOCK_EX) // where the file system has no locks, nobody gets one and removes it
			_, err = os.Lstat(folder)
		}
		if err == nil {
			return folder, func() error { return errors.Join(removeScratch(folder), unix.Close(fd)) }, nil
		}
		_ = unix.Close(fd)
		if !errors.Is(err, os.ErrNotExist) {
			return "", nil, err
		} // another process took it for left behind before it was locked
	}
}

// removeLeft removes a folder of this user, unless a process has locked it.
func removeLeft(folder string) {
	fd, err := openFolder(folder)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	var s unix.Stat_t
	if unix.Fstat(fd, &s) == nil && int(s.Uid) == os.Geteuid() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = removeScratch(folder)
	}
}

// openFolder opens a folder, to which a symbolic link does not lead.
func openFolder(folder string) (fd int, err error) {
	return unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}
