package unixsocket

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Accept implements net.Listener. It closes connections of users that are not allowed.
func (l *Listener) Accept() (net.Conn, error) {
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
		l.sometimes.Do(func() { l.log("connection closed", "err", err) })
		_ = c.Close()
	}
}

// userOf returns the user id of the process at the other end of a connection. The kernel reports that id.
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

// checkFolder rejects a folder in which another user could replace the socket. That user could put another socket in
// its place, or a link to a file, and Listen would then change the mode of that file.
func checkFolder(folder string) error {
	var s unix.Stat_t
	if err := unix.Stat(folder, &s); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if s.Uid != 0 && s.Uid != uint32(os.Getuid()) || s.Mode&0o022 != 0 && s.Mode&unix.S_ISVTX == 0 {
		return fmt.Errorf("%s is of user %d with mode %#o: other users could replace the socket in it; take a folder of "+
			"this process's own user, for that user alone to write to", folder, s.Uid, s.Mode&0o7777)
	}
	return nil
}

// checkUsers rejects a user that the user namespace of this process does not map. The kernel
// reports every such user as 65534, so the listener could not tell these users apart.
func checkUsers(users []uint32) error {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err
	}
	for _, user := range users {
		if !Maps(string(text), user) {
			return fmt.Errorf("user %d is not mapped in this process's user namespace, where it looks like every other user: "+
				"start it without one, as with PrivateUsers=no of systemd", user)
		}
	}
	return nil
}

// Maps reports whether the text of a uid_map maps the given user. Each line has the first user
// id inside the namespace, the first user id outside the namespace, and the number of ids.
func Maps(uidMap string, user uint32) bool {
	for line := range strings.Lines(uidMap) {
		var first, outside, count uint64
		if _, err := fmt.Sscan(line, &first, &outside, &count); err != nil {
			continue
		}
		if uint64(user) >= first && uint64(user) < first+count {
			return true
		}
	}
	return false
}
