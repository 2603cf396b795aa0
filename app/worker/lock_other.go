//go:build !unix

package worker

import "os"

// lockFile does nothing: on this system nothing prevents two processes from using one journal.
func lockFile(*os.File) error { return nil }
