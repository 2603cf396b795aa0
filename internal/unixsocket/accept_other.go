//go:build !linux

package unixsocket

// On this system only the mode of the socket file restricts who may connect; signer.users has no effect.

// checkFolder does nothing on this system.
func checkFolder(string) error { return nil }

// checkUsers does nothing on this system.
func checkUsers([]uint32) error { return nil }
