package internal_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// script runs a script of .ci that make release runs.
func script(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(filepath.Join("../../.ci", name), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestSBOM: the bill of a program has every module that the program says it is made of, each with its hash and
// licence, and the same program gives the same bytes.
func TestSBOM(t *testing.T) {
	stage.OnlyLong(t) // builds a program and lists its modules twice: 5 s, a minute without a cache
	stage.Python(t, "json")
	const tool = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0"
	if out, err := exec.Command("go", "run", tool, "version").CombinedOutput(); err != nil {
		t.Skipf("%s cannot be had: %s", tool, out)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "manual")
	built, err := exec.Command("go", "build", "-o", program, "./manual").CombinedOutput()
	require.NoError(t, err, "%s", built)
	var bills [2][]byte
	for i := range bills {
		out := filepath.Join(dir, "spdl.cdx.json")
		script(t, "sbom", program, "v0.1.0", out)
		bills[i], err = os.ReadFile(out)
		require.NoError(t, err)
	}
	require.Equal(t, string(bills[0]), string(bills[1]))

	type licence struct{ Expression string }
	type component struct {
		Name, Version, Purl string
		Licenses            []licence
		Hashes              []struct{ Alg, Content string }
	}
	var bom struct {
		BomFormat, SpecVersion, SerialNumber string
		Metadata                             struct{ Component component }
		Components                           []component
	}
	require.NoError(t, json.Unmarshal(bills[0], &bom))
	require.Equal(t, "CycloneDX 1.6", bom.BomFormat+" "+bom.SpecVersion)
	require.Regexp(t, "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", bom.SerialNumber)
	require.Equal(t, "v0.1.0", bom.Metadata.Component.Version)
	require.Regexp(t, "^[0-9a-f]{64}$", bom.Metadata.Component.Hashes[0].Content)
	names := map[string]component{}
	for _, c := range bom.Components {
		require.NotContains(t, names, c.Name)
		require.Regexp(t, "^pkg:golang/.+@.+", c.Purl)
		if names[c.Name] = c; c.Name != "std" {
			require.NotEmpty(t, c.Hashes, c.Name)
		}
	}
	require.Contains(t, names, "github.com/cometbft/cometbft")
	require.Equal(t, []licence{{"Apache-2.0"}}, names["github.com/spf13/cobra"].Licenses)
	require.Equal(t, []licence{{"BSD-3-Clause"}}, names["std"].Licenses)
	require.Error(t, exec.Command("../../.ci/sbom", "../../go.mod", "v0.1.0", filepath.Join(dir, "x")).Run())
}

// TestWheel: RECORD has the hash and the length of every file, the package is there whole, two wheels of one version
// are the same bytes, and a version that git describes becomes one of PEP 440.
func TestWheel(t *testing.T) {
	stage.OnlyLong(t)
	stage.Python(t, "zipfile")
	dir := t.TempDir()
	for described, want := range map[string]string{"v1.2.3": "1.2.3", "0.4": "0.4",
		"v1.2.3-4-gabc12de": "0+v1.2.3.4.gabc12de", "bc9ea06-dirty": "0+bc9ea06.dirty", "unknown": "0+unknown"} {
		var wheels [2][]byte
		for i := range wheels {
			script(t, "wheel", described, dir)
			var err error
			wheels[i], err = os.ReadFile(filepath.Join(dir, "spdl_trainer-"+want+"-py3-none-any.whl"))
			require.NoError(t, err)
		}
		require.Equal(t, wheels[0], wheels[1])
		checkRecord(t, wheels[0])
	}
}

func checkRecord(t *testing.T, wheel []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	require.NoError(t, err)
	lines, record := "", ""
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		if strings.HasSuffix(f.Name, "/RECORD") {
			record, lines = string(content), lines+f.Name+",,\n"
			continue
		}
		hash := sha256.Sum256(content)
		lines += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(hash[:]), len(content))
	}
	require.Equal(t, lines, record)
	for _, name := range []string{"spdl_trainer/protocol.py", "spdl_trainer/py.typed", "/METADATA", "/licenses/LICENSE"} {
		require.Contains(t, record, name+",sha256=")
	}
}

// TestWheelInstalls: pip, where there is one, installs the wheel, and Python imports it.
func TestWheelInstalls(t *testing.T) {
	stage.OnlyLong(t)
	python, dir := stage.Python(t, "pip"), t.TempDir()
	script(t, "wheel", "v3.4", dir)
	out, err := exec.Command(python, "-m", "pip", "install", "--no-index", "--no-deps", "--target",
		filepath.Join(dir, "site"), filepath.Join(dir, "spdl_trainer-3.4-py3-none-any.whl")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(python, "-c", "import spdl_trainer, importlib.metadata as m; print(m.version('spdl-trainer'), "+
		"spdl_trainer.__file__)")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(dir, "site"))
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "3.4 "+filepath.Join(dir, "site"))
}

// TestSignedRelease: a release's checksums are signed, one command verifies them, and neither another
// key's signature nor a changed list passes.
func TestSignedRelease(t *testing.T) {
	stage.Tool(t, "ssh-keygen")
	dir := t.TempDir()
	run := func(wants bool, in string, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if in != "" {
			f, err := os.Open(filepath.Join(dir, in))
			require.NoError(t, err)
			defer f.Close()
			cmd.Stdin = f
		}
		out, err := cmd.CombinedOutput()
		require.Equal(t, wants, err == nil, "%s", out)
	}
	for _, key := range []string{"ours", "other"} {
		run(true, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", key)
	}
	public, err := os.ReadFile(filepath.Join(dir, "ours.pub"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "allowed_signers"), []byte("releases "+string(public)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte("00  spdl.tar.gz\n"), 0o600))
	sign, err := filepath.Abs("../../.ci/sign")
	require.NoError(t, err)
	verify := []string{"-Y", "verify", "-f", "allowed_signers", "-I", "releases", "-n", "spdl-release", "-s",
		"SHA256SUMS.sig"}

	run(true, "", sign, "ours", "SHA256SUMS")
	run(true, "SHA256SUMS", "ssh-keygen", verify...)
	run(true, "", sign, "other", "SHA256SUMS")
	run(false, "SHA256SUMS", "ssh-keygen", verify...)
	run(true, "", sign, "ours", "SHA256SUMS")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte("01  spdl.tar.gz\n"), 0o600))
	run(false, "SHA256SUMS", "ssh-keygen", verify...)
}
