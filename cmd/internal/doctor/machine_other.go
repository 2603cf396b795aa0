//go:build !linux

package doctor

import "github.com/spdl/spdl/abci/home"

// machine asks the kernel.
var machine = System{Free: free, Descriptors: fileLimit, Synced: func() (bool, error) { return false, errUnknown },
	Contains: home.Containment}
