package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

func TestPythonVersion(t *testing.T) {
	for described, want := range map[string]string{
		"v1.2.3": "1.2.3", "0.4": "0.4", "v1.2.3-4-gabc12de": "0+v1.2.3.4.gabc12de", "bc9ea06-dirty": "0+bc9ea06.dirty",
		"unknown": "0+unknown",
	} {
		require.Equal(t, want, pythonVersion(described))
	}
}

// TestWheel: RECORD has the hash and the length of every file, the package is there whole, and two
// wheels of one version are the same bytes.
func TestWheel(t *testing.T) {
	made := time.Unix(1700000000, 0).UTC()
	wheel, err := build("1.2", []byte("words"), made)
	require.NoError(t, err)
	again, err := build("1.2", []byte("words"), made)
	require.NoError(t, err)
	require.Equal(t, wheel, again)
	z, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	require.NoError(t, err)
	var lines []string
	record := ""
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		if strings.HasSuffix(f.Name, "/RECORD") {
			record = string(content)
			lines = append(lines, f.Name+",,")
			continue
		}
		hash := sha256.Sum256(content)
		lines = append(lines, fmt.Sprintf("%s,sha256=%s,%d", f.Name, base64.RawURLEncoding.EncodeToString(hash[:]),
			len(content)))
	}
	require.Equal(t, strings.Join(lines, "\n")+"\n", record)
	for _, name := range []string{"spdl_trainer/protocol.py", "spdl_trainer/py.typed",
		"spdl_trainer-1.2.dist-info/METADATA"} {
		require.Contains(t, record, name+",sha256=")
	}
}

// TestWheelInstalls: pip, where there is one, installs the wheel, and Python imports it.
func TestWheelInstalls(t *testing.T) {
	python, dir := stage.Python(t, "pip"), t.TempDir()
	require.NoError(t, write("v3.4", "../../../LICENSE", dir))
	out, err := exec.Command(python, "-m", "pip", "install", "--no-index", "--no-deps", "--target",
		filepath.Join(dir, "site"), filepath.Join(dir, fileName("3.4"))).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(python, "-c", "import spdl_trainer, importlib.metadata as m; print(m.version('spdl-trainer'), "+
		"spdl_trainer.__file__)")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(dir, "site"))
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "3.4 "+filepath.Join(dir, "site"))
}
