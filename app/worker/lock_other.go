//go:build !unix

package worker

import "os"

// exclusive does nothing: on this system nothing prevents two processes from using one journal.
func exclusive(*os.File) error { return nil }
