// Package unixsocket listens on Unix sockets: every socket file of a home is made here.
package unixsocket

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// Listener is a listener that accepts only connections of processes of the given users. The
// embedded listener leaves that to the mode of the socket file.
type Listener struct {
	*net.UnixListener
	users     []uint32
	log       func(string, ...any)
	sometimes rate.Sometimes // bounds the calls of log, because a client decides their number
}

// Listen listens on a socket file, for processes of this user and of the listed user ids. It
// replaces a socket file on which no process listens, as a killed process leaves it behind. It
// rejects a folder in which other users could replace the file. log gets the rejected connections.
func Listen(path string, users []uint32, log func(string, ...any)) (*Listener, error) {
	users = append(slices.Clone(users), uint32(os.Getuid()))
	if err := cmp.Or(checkFolder(filepath.Dir(path)), checkUsers(users)); err != nil {
		return nil, err
	}
	if err := removeDead(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	mode := os.FileMode(0o600)
	if len(users) > 1 { // Accept then checks the user of each connection, which the kernel reports
		mode = 0o666
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Listener{l.(*net.UnixListener), users, log, rate.Sometimes{First: 100, Interval: 100 * time.Millisecond}}, nil
}

// removeDead removes a socket file on which no process listens: the kernel refuses its connections.
func removeDead(path string) error {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(c.Close(), fmt.Errorf("%s: another process listens there", path))
	}
	if info, failed := os.Lstat(path); failed != nil || info.Mode()&os.ModeSocket == 0 ||
		!errors.Is(err, syscall.ECONNREFUSED) {
		return nil // there is nothing to remove: net.Listen says what is in the way
	}
	return os.Remove(path)
}
