package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// list returns the table of all parts.
func list(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("# Third parties\n\n" +
		"What of others is in the program `spdl`, and under which licence. `make notices` writes this page,\n" +
		"and all licences and notices word for word into `build/NOTICES.txt`, which a release holds. A test\n" +
		"fails when the page is not up to date.\n\n" +
		"| part | version | licence |\n|---|---|---|\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, p.version, strings.Join(p.licences, ", "))
	}
	return b.Bytes()
}

// texts returns all licences and notices, each text once, below a heading with the parts that have it.
func texts(parts []part) ([]byte, error) {
	var order [][]byte
	of := map[[32]byte][]string{}
	for _, p := range parts {
		for _, file := range p.files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r"), nil))
			sum := sha256.Sum256(text)
			if of[sum] == nil {
				order = append(order, text)
			}
			of[sum] = append(of[sum], strings.TrimSpace(p.name+" "+p.version)+", "+filepath.Base(file))
		}
	}
	var b bytes.Buffer
	b.WriteString("spdl holds the work of third parties, under the licences below.\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[sha256.Sum256(text)], "\n"), text)
	}
	return b.Bytes(), nil
}
