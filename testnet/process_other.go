//go:build !linux

package testnet

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// bound keeps the terminal's Ctrl-C from a child. Only on Linux does a child also end with a killed parent.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func peakOf(*os.ProcessState) int64 { return 0 }

func peakOfPID(int) int64 { return 0 }

func cpuOfPID(int) time.Duration { return 0 }

// starve is supported on Linux only.
func starve(int) error { return errors.ErrUnsupported }
