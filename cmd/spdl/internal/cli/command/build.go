package command

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spdl/spdl/abci"
)

// Build names this program: by its version, and if that does not identify what was
// built, by the hash of its file too.
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
