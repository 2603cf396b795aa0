package command

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spdl/spdl/abci"
)

// Build names the program that computes: its version, and where that does not
// tell what was built, the hash of the file.
func Build() (string, error) {
	v := abci.Version
	if v != abci.Unreleased && !strings.HasSuffix(v, "-dirty") {
		return v, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (executable %x)", v, h.Sum(nil)[:6]), nil
}
