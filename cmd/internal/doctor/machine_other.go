//go:build !linux

package doctor

import (
	"errors"

	"github.com/spdl/spdl/abci/home"
)

// machine holds the functions that query this system.
var machine = System{Free: home.FreeBytes, Descriptors: fileLimit, Contains: home.Containment,
	Synced: func() (bool, error) { return false, errors.New("this system does not say") }}
