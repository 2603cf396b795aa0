package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// uuid and purl are the patterns of CycloneDX's schema, and of the specification of package URLs for
// Go.
var (
	uuid = regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	purl = regexp.MustCompile(`^pkg:golang/[a-z0-9._~/-]+@[A-Za-z0-9._~%()+-]+$`)
)

// TestSBOM: the bill of a program has what CycloneDX's schema asks for, and every module that the
// program says it is made of. The program is this test.
func TestSBOM(t *testing.T) {
	own, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	var bills [2][]byte
	for i := range bills {
		out := filepath.Join(dir, "spdl.cdx.json")
		require.NoError(t, write(own, "v0.1.0", "../../../docs/NOTICES.md", out))
		bills[i], err = os.ReadFile(out)
		require.NoError(t, err)
	}
	require.Equal(t, string(bills[0]), string(bills[1]), "the same program gives the same bytes")

	var raw map[string]any
	require.NoError(t, json.Unmarshal(bills[0], &raw))
	require.Equal(t, "CycloneDX", raw["bomFormat"])
	require.Equal(t, "1.6", raw["specVersion"])
	require.Equal(t, 1.0, raw["version"])
	bom := new(cyclonedx.BOM)
	require.NoError(t, cyclonedx.NewBOMDecoder(strings.NewReader(string(bills[0])),
		cyclonedx.BOMFileFormatJSON).Decode(bom))
	require.Regexp(t, uuid, bom.SerialNumber)
	main := bom.Metadata.Component
	require.Equal(t, cyclonedx.ComponentTypeApplication, main.Type)
	require.Equal(t, "v0.1.0", main.Version)
	require.Regexp(t, "^[0-9a-f]{64}$", (*main.Hashes)[0].Value)

	refs := map[string]bool{main.BOMRef: true}
	names := map[string]cyclonedx.Component{}
	for _, c := range *bom.Components {
		require.False(t, refs[c.BOMRef], "%s is there twice", c.BOMRef)
		refs[c.BOMRef] = true
		require.Equal(t, cyclonedx.ComponentTypeLibrary, c.Type)
		require.NotEmpty(t, c.Version)
		require.Regexp(t, purl, c.PackageURL)
		names[c.Name] = c
	}
	for _, d := range *bom.Dependencies {
		require.True(t, refs[d.Ref])
	}
	require.Len(t, *(*bom.Dependencies)[0].Dependencies, len(names))
	require.Contains(t, names, "std")
	require.Equal(t, "v0.9.3", names["github.com/CycloneDX/cyclonedx-go"].Version)
	require.Equal(t, "BSD-3-Clause", (*names["std"].Licenses)[0].Expression)

	require.Error(t, write("../../../go.mod", "v0.1.0", "../../../docs/NOTICES.md", filepath.Join(dir, "x")))
}

// TestSignedRelease: a release's checksums are signed, one command verifies them, and neither another
// key's signature nor a changed list passes.
func TestSignedRelease(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
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
	sign, err := filepath.Abs("../../../.ci/sign")
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
