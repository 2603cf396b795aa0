//go:build !unix

package worker

import "os"

// exclusive does nothing, because this system has no such locks.
func exclusive(*os.File) error { return nil }
