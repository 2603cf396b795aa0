package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/spdl/spdl/app/worker/trainer"
)

var (
	release  = regexp.MustCompile(`^v?([0-9]+(\.[0-9]+)*)$`)
	notLocal = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

// pythonVersion returns a PEP 440 version for the output of git describe: a tag's number, or else a
// local version of 0.
func pythonVersion(described string) string {
	if tag := release.FindStringSubmatch(described); tag != nil {
		return tag[1]
	}
	return "0+" + strings.ToLower(strings.Trim(notLocal.ReplaceAllString(described, "."), "."))
}

func fileName(version string) string {
	return trainer.PackageName + "-" + version + "-py3-none-any.whl"
}

const metadata = `Metadata-Version: 2.1
Name: spdl-trainer
Version: %s
Summary: The trainer's side of SPDL: gradients of examples for a chain, from PyTorch, NumPy or any Python
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Provides-Extra: torch
Requires-Dist: numpy; extra == "torch"
Requires-Dist: torch>=1.13; extra == "torch"
`

const wheelFile = `Wheel-Version: 1.0
Generator: spdl
Root-Is-Purelib: true
Tag: py3-none-any
`

// build returns a wheel: a zip with the package, and with a folder that describes it. The RECORD in
// that folder has the SHA-256 of every file (the binary distribution format of Python's packaging
// guide).
func build(version string, licence []byte, made time.Time) ([]byte, error) {
	var out, record bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name string, content []byte) error {
		hash := sha256.Sum256(content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(hash[:]), len(content))
		return store(z, name, content, made)
	}
	files := trainer.Package()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return add(name, content)
	})
	if err != nil {
		return nil, err
	}
	about := trainer.PackageName + "-" + version + ".dist-info/"
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{"licenses/LICENSE", licence}, {"METADATA", fmt.Appendf(nil, metadata, version)}, {"WHEEL", []byte(wheelFile)},
	} {
		if err := add(about+file.name, file.content); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", about)
	if err := store(z, about+"RECORD", record.Bytes(), made); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}

// store adds a file to a zip.
func store(z *zip.Writer, name string, content []byte, made time.Time) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: made}
	h.SetMode(0o644)
	w, err := z.CreateHeader(h)
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}
