// Command wheel writes the Python package of trainers as a wheel. The same version and
// SOURCE_DATE_EPOCH give the same bytes.
//
//	go run ./cmd/internal/wheel VERSION LICENSE FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: wheel VERSION LICENSE FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
}

// write writes the wheel of a version, as git describes it, to a folder.
func write(described, licence, folder string) error {
	text, err := os.ReadFile(licence)
	if err != nil {
		return err
	}
	made := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) // the earliest day that a zip can store
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH is %q, want seconds since 1970: %w", epoch, err)
		}
		made = time.Unix(seconds, 0).UTC()
	}
	version := pythonVersion(described)
	wheel, err := build(version, text, made)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, fileName(version)), wheel, 0o644)
}
