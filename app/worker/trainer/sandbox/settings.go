package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// These errors distinguish a system without support from bad settings.
var (
	// ErrUnsupported means that this system cannot contain a trainer.
	ErrUnsupported = errors.New("the trainer cannot be contained")
	// ErrSettings means that a setting is out of bounds, or would make a secret readable.
	ErrSettings = errors.New("settings of the sandbox")
)

// Settings bound what a trainer may do. With the zero value the trainer is contained, with default limits.
type Settings struct {
	Off       bool     // whether the trainer runs without a sandbox
	Memory    int64    // max bytes of all the trainer's processes together; 0 means half of the machine's memory
	Scratch   int64    // max bytes of the scratch folder; 0 means DefaultScratch
	Processes int      // max number of processes and threads at once; 0 means DefaultProcesses
	Read      []string // further files and folders that the trainer may read and execute
	Devices   []string // devices that the trainer may use, such as /dev/nvidia0
	Env       []string // further environment variables for the trainer, as NAME or NAME=VALUE
	// Secret lists the absolute paths of files and folders that must not be inside a readable folder:
	// the home's keys and journal.
	Secret []string
}

// The values of worker.sandbox.
const (
	ModeOn  = "on"
	ModeOff = "off"
)

// These are the default limits.
const (
	DefaultScratch   = 4 << 30
	DefaultProcesses = 512
)

// MaxDescriptors is the limit of open descriptors of each process of a trainer.
const MaxDescriptors = 256

// MinMemory is the smallest allowed limit of memory, in bytes. An interpreter needs that much memory to start.
const MinMemory = 64 << 20

// Validate returns an error for settings that are out of bounds.
func (s Settings) Validate() error {
	switch {
	case s.Memory != 0 && s.Memory < MinMemory:
		return fmt.Errorf("%w: trainer_memory is %d bytes, want 0, or at least %d", ErrSettings, s.Memory, MinMemory)
	case s.Scratch < 0:
		return fmt.Errorf("%w: trainer_scratch is %d bytes, want at least 0", ErrSettings, s.Scratch)
	case s.Processes < 0:
		return fmt.Errorf("%w: trainer_processes is %d, want at least 0", ErrSettings, s.Processes)
	}
	for _, device := range s.Devices {
		if !strings.HasPrefix(filepath.Clean(device), "/dev/") {
			return fmt.Errorf("%w: worker.devices has %q, want paths below /dev", ErrSettings, device)
		}
	}
	for _, variable := range s.Env {
		if name, _, _ := strings.Cut(variable, "="); name == "" {
			return fmt.Errorf("%w: trainer_env has %q, want NAME or NAME=VALUE", ErrSettings, variable)
		}
	}
	return nil
}

// withDefaults returns the settings with the default of every limit that is 0.
func (s Settings) withDefaults() Settings {
	if s.Memory == 0 {
		s.Memory = max(machineMemory()/2, MinMemory)
	}
	s.Scratch, s.Processes = cmp.Or(s.Scratch, DefaultScratch), cmp.Or(s.Processes, DefaultProcesses)
	return s
}
