//go:build !linux

package worker

import (
	"errors"
	"os"
)

// syncSystem cannot be done here.
var syncSystem = func(*os.File) error { return errors.ErrUnsupported }
