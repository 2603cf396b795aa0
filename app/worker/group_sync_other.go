//go:build !linux

package worker

import (
	"errors"
	"os"
)

// syncSystem is not supported on this system.
var syncSystem = func(*os.File) error { return errors.ErrUnsupported }
