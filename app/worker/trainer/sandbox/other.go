//go:build !linux

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Supported returns an ErrUnsupported, because only Linux can contain a trainer.
func Supported() error {
	return fmt.Errorf("%w: %s has no Landlock; Linux has", ErrUnsupported, runtime.GOOS)
}

// Describe says that there is no containment.
func Describe() (means string, lacks []string) { return "nothing", nil }

// Temporary makes a folder for temporary files, and returns what removes it.
func Temporary(prefix string) (folder string, remove func() error, err error) {
	folder, err = os.MkdirTemp("", prefix)
	return folder, func() error { return os.RemoveAll(folder) }, err
}

func machineMemory() int64 { return 0 }

func ownSession() *syscall.SysProcAttr { return nil }
