package doctor

import "golang.org/x/sys/unix"

// free returns the bytes that the user can still write to the disk of a path.
func free(path string) (uint64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(path, &s)
	return s.Bavail * uint64(s.Bsize), err
}

// fileLimit returns the number of files that a process of this user may open. Go raises the soft
// limit to the hard one when a program starts.
func fileLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return limit.Cur, err
}
