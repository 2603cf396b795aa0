package doctor

import "golang.org/x/sys/unix"

// fileLimit returns the number of files that a process of this user may open. Go raises the soft
// limit to the hard one when a program starts.
func fileLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return limit.Cur, err
}
