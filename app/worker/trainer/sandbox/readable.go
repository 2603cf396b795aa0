package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// From returns a path that begins in dir unless it is absolute.
func From(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// absolutePath returns the absolute form of a path, without symbolic links. A relative path begins in dir.
func absolutePath(path, dir string) (string, error) { return filepath.EvalSymlinks(From(dir, path)) }

// readablePaths returns the paths that the trainer may read in addition to the paths in system: the
// trainer's folder, interpreter and data, and the paths in s.Read. It fails with ErrSettings if a
// path holds a secret or the user's home, if a secret cannot be resolved, or if the program is in
// none of the paths. secrets are the paths of s.Secret without symbolic links.
func (c *command) readablePaths(data string, s Settings) (paths, secrets []string, err error) {
	paths = []string{c.folder}
	for _, path := range slices.Concat([]string{data}, c.interpreter, s.Read) {
		if path == "" {
			continue
		}
		at, err := absolutePath(path, c.dir)
		if os.IsNotExist(err) && path == data {
			continue // only the trainer knows the meaning of this name
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: trainer_read: %w", ErrSettings, err)
		}
		paths = append(paths, at)
	}
	if own, err := os.UserHomeDir(); err == nil {
		if _, err := checkSecret(own, paths); err != nil {
			return nil, nil, err
		}
	}
	readable := slices.Concat(system, paths)
	for _, secret := range s.Secret {
		at, err := checkSecret(secret, readable)
		if err != nil {
			return nil, nil, err
		}
		secrets = append(secrets, at)
	}
	program, err := absolutePath(c.argv[0], "")
	if err != nil {
		return nil, nil, err
	}
	if inside, err := isInsideAny(program, readable); err != nil || !inside {
		return nil, nil, errors.Join(err, fmt.Errorf("%w: the trainer's program %s is %s, which the trainer may not read: "+
			"begin worker.trainer with an interpreter that lies outside of the trainer's folder, or name this one or its "+
			"folder "+
			"in worker.trainer_read", ErrSettings, c.argv[0], program))
	}
	return paths, secrets, nil
}

// checkSecret returns the path of a secret without symbolic links. It fails with ErrSettings if one
// of the readable paths holds the secret, or if that is not known.
func checkSecret(secret string, readable []string) (string, error) {
	at, err := resolveSecret(secret)
	for _, path := range readable {
		inside := false
		if err == nil {
			inside, err = isInside(at, path)
		}
		if inside {
			return "", fmt.Errorf("%w: the trainer would read all of %s, and with it %s: move the trainer, its "+
				"interpreter or its data into a folder of their own", ErrSettings, path, at)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: whether the trainer could read %q is not known: %w", ErrSettings, secret, err)
	}
	return at, nil
}

// resolveSecret returns the path of a secret without symbolic links. A secret that does not exist
// may be made later, so its folder is resolved.
func resolveSecret(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("the path is not absolute")
	}
	at, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return at, err
	}
	if _, missing := os.Lstat(path); missing == nil {
		return "", err // a link to a missing file
	}
	folder, err := resolveSecret(filepath.Dir(path))
	return filepath.Join(folder, filepath.Base(path)), err
}

// isInside reports whether a path is a folder or is within it. Both paths are absolute.
func isInside(path, folder string) (bool, error) {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel), err
}

// isInsideAny reports whether a path is one of the folders or is within one.
func isInsideAny(path string, folders []string) (bool, error) {
	for _, folder := range folders {
		if inside, err := isInside(path, folder); inside || err != nil {
			return inside, err
		}
	}
	return false, nil
}
