// Command notices writes the third-party parts of spdl and their licences. LIST is a table for
// people. TEXT has all licences and notices word for word, for those who distribute the program.
//
//	go run ./cmd/internal/notices LIST TEXT
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: notices LIST TEXT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func write(listFile, textFile string) error {
	root, err := goList(runtime.GOARCH, ".", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	parts, err := find(root[0])
	if err != nil {
		return err
	}
	text, err := texts(parts)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(textFile), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(textFile, text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(listFile, list(parts), 0o644)
}
