package signer

import (
	"fmt"
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// Accept implements net.Listener. It closes connections of users that are not allowed.
func (l *byUser) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		user, err := userOf(c)
		if err == nil && slices.Contains(l.users, user) {
			return c, nil
		}
		if err == nil {
			err = fmt.Errorf("user %d is not in signer.users", user)
		}
		l.log("connection closed", "err", err)
		_ = c.Close()
	}
}

// userOf returns the id of the user of the process at the other end, which the kernel knows.
func userOf(c *net.UnixConn) (user uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		var who *unix.Ucred
		if who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			user = who.Uid
		}
	})
	if err == nil {
		err = controlErr
	}
	return user, err
}

// Contain protects the memory of this process, which holds the keys: other processes of this user
// cannot read it, and the kernel does not write it to a core file.
func Contain() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
