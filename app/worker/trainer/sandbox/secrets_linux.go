package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// listSecrets returns the existing files and folders among the secrets and below them. It fails if a
// secret is a file with a second name, under which the trainer might open it.
func listSecrets(secrets []string) (paths []string, err error) {
	for _, secret := range secrets {
		var stat unix.Stat_t
		if unix.Lstat(secret, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Nlink > 1 {
			return nil, fmt.Errorf("%w: the secret %s has %d names (hard links), want 1: copy the file in place of the links",
				ErrSettings, secret, stat.Nlink)
		}
		err := filepath.WalkDir(secret, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a database removes files at any time
			}
			if err == nil && (d.IsDir() || d.Type().IsRegular()) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("secrets: %w", err)
		}
	}
	return paths, nil
}

// checkClosed fails if this process, which is confined, can open one of the secrets. The check finds what a comparison
// of paths cannot: mounts, readable parts of a secret folder, and paths that changed since.
func checkClosed(secrets []string) error {
	for _, path := range secrets {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		switch {
		case err == nil:
			_ = f.Close()
			return fmt.Errorf("%w: the trainer could open the secret %s, so it is not started: move the trainer, its "+
				"interpreter or its data away from there", ErrSettings, path)
		case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("whether the trainer could open the secret %s is not known: %w", path, err)
		}
	}
	return nil
}
