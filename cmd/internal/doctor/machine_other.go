//go:build !linux

package doctor

import (
	"errors"

	"github.com/spdl/spdl/abci/home"
)

// errUnknown reports that a system does not say.
var errUnknown = errors.New("this system does not say")

// machine asks the kernel.
var machine = System{Free: free, Descriptors: fileLimit, Synced: func() (bool, error) { return false, errUnknown },
	Contains: home.Containment}
