package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// system lists the files and folders that every program may read: programs and libraries of the
// distribution, and the kernel's information about the machine and the process.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/loadavg",
	"/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
}

// ofDevices lists the files and folders that the runtimes of graphics cards read.
var ofDevices = []string{"/proc/driver/nvidia", "/proc/devices", "/sys/class", "/sys/bus/pci", "/sys/devices",
	"/sys/module/nvidia", "/sys/module/amdgpu", "/etc/OpenCL", "/etc/vulkan", "/dev/dri"}

// absolutePath returns the absolute form of a path, without symbolic links. A relative path begins
// in dir.
func absolutePath(path, dir string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.EvalSymlinks(path)
}

// readablePaths returns the paths that the trainer may read in addition to the paths in system: the
// trainer's folder, interpreter and data, and the paths in s.Read. It fails with ErrSettings if a
// path holds a secret or the user's home.
func (c *command) readablePaths(data string, s Settings) ([]string, error) {
	paths := append([]string{c.folder}, c.interpreter...)
	for _, path := range append([]string{data}, s.Read...) {
		if path == "" {
			continue
		}
		at, err := absolutePath(path, c.dir)
		if os.IsNotExist(err) && path == data {
			continue // only the trainer knows the meaning of this name
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
			if at, err := absolutePath(secret, ""); err == nil && isInside(at, path) {
				return nil, fmt.Errorf("%w: the trainer would read all of %s, and with it %s: move the trainer, its "+
					"interpreter or its data into a folder of their own", ErrSettings, path, at)
			}
		}
	}
	return paths, nil
}

// isInside reports whether a path is a folder or is within it.
func isInside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
