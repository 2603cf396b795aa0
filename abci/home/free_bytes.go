package home

import "golang.org/x/sys/unix"

// FreeBytes returns the number of bytes that this process's user can still write to the disk that holds path.
func FreeBytes(path string) (uint64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(path, &s)
	return s.Bavail * uint64(s.Bsize), err
}
