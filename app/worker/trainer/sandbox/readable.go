package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// system are the files and folders that every program may read: programs and libraries of the
// distribution, and what the kernel says about the machine and about the process itself.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/loadavg",
	"/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
}

// ofDevices are what the runtimes of graphics cards read.
var ofDevices = []string{"/proc/driver/nvidia", "/proc/devices", "/sys/class", "/sys/bus/pci", "/sys/devices",
	"/sys/module/nvidia", "/sys/module/amdgpu", "/etc/OpenCL", "/etc/vulkan", "/dev/dri"}

// absolute returns a path as an absolute one without symbolic links. Relative ones begin in dir.
func absolute(path, dir string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.EvalSymlinks(path)
}

// readable returns what a program may read beside the system's: its own folder, its interpreter,
// its data and the settings' paths.
func (c *command) readable(data string, s Settings) ([]string, error) {
	paths := append([]string{c.folder}, c.interpreter...)
	for _, path := range append([]string{data}, s.Read...) {
		if path == "" {
			continue
		}
		at, err := absolute(path, c.dir)
		if os.IsNotExist(err) && path == data {
			continue // a name that the trainer alone understands
		}
		if err != nil {
			return nil, fmt.Errorf("%w: trainer_read: %w", ErrSettings, err)
		}
		paths = append(paths, at)
	}
	secrets := s.Secret
	if own, err := os.UserHomeDir(); err == nil {
		secrets = append([]string{own}, secrets...)
	}
	for _, path := range paths {
		for _, secret := range secrets {
			if at, err := absolute(secret, ""); err == nil && inside(at, path) {
				return nil, fmt.Errorf("%w: the trainer would read all of %s, and with it %s: move the trainer, its "+
					"interpreter or its data into a folder of their own", ErrSettings, path, at)
			}
		}
	}
	return paths, nil
}

// inside reports whether a path is a folder or is inside of it.
func inside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
