// Package dossier makes and verifies the dossier of a training: a signed archive with one page of
// sentences. Each sentence rests on a proof, or is marked as declared.
//
//	Collect  gathers the evidence from the blocks that an audit replays
//	Write    renders the page from evidence, and signs the archive
//	Verify   checks an archive against one trusted header, without a node
//
// Evidence is what the page is made from. Its headers form one [Chain], by their hashes: a trusted
// header proves all headers before it, and the signatures of validators prove those after it.
// Evidence.Prove makes [Facts] of evidence and of trusted headers, with proofs that stand elsewhere
// too: the card of a model proves values of the state, the audit log proves operations.
//
// All files of the archive follow from the evidence, which its signature covers: Verify proves the evidence, renders
// the page again and compares every byte. docs/VERIFY.md is its manual, and the tests of package audit are its tests.
package dossier

import (
	"archive/zip"
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
)

// The files of an archive, in their order in it. The last is the ed25519 signature of the evidence.
const (
	htmlFile      = "dossier.html"
	markdownFile  = "dossier.md"
	claimsFile    = "claims.json"
	evidenceFile  = "evidence.json"
	signatureFile = "evidence.json.sig"
)

var files = []string{htmlFile, markdownFile, claimsFile, evidenceFile, signatureFile}

// MaxBytes is the max size of an archive.
const MaxBytes = 256 << 20

// signed returns the bytes that are signed. No transaction, consent or VRF input begins with their prefix.
func signed(evidenceJSON []byte) []byte {
	return append([]byte(Version+"\n"), evidenceJSON...)
}

// pack returns the archive of the files' contents: a ZIP file with uncompressed entries and without
// times. Equal contents give equal bytes.
func pack(contents map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(contents[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	if err == nil && out.Len() > MaxBytes {
		err = fmt.Errorf("the dossier has %d bytes, at most %d", out.Len(), MaxBytes)
	}
	return out.Bytes(), err
}

// unpack returns the contents of an archive. It takes no compressed file, so that it reads no more
// bytes than the archive has.
func unpack(data []byte) (map[string][]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrDossier, MaxBytes)
	case err != nil:
		return nil, fmt.Errorf("%w: it is no whole archive: %w", ErrDossier, err)
	case len(r.File) != len(files):
		return nil, fmt.Errorf("%w: it has %d files, want %d", ErrDossier, len(r.File), len(files))
	}
	contents := map[string][]byte{}
	for _, f := range r.File {
		if f.Method != zip.Store {
			return nil, fmt.Errorf("%w: %.80s is compressed by method %d, want it stored", ErrDossier, f.Name, f.Method)
		}
		in, err := f.Open()
		if err == nil {
			contents[f.Name], err = io.ReadAll(io.LimitReader(in, int64(len(data))+1))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %.80s: %w", ErrDossier, f.Name, err)
		}
	}
	return contents, nil
}

// check returns an error unless the archive is, byte for byte, the output of pack for its contents, and signed by
// a key.
func check(data []byte, contents map[string][]byte, signer []byte) error {
	if len(signer) != ed25519.PublicKeySize ||
		!ed25519.Verify(signer, signed(contents[evidenceFile]), contents[signatureFile]) {
		return fmt.Errorf("%w: its signature is not one of %X", ErrDossier, signer)
	}
	again, err := pack(contents)
	if err != nil || bytes.Equal(again, data) {
		return err
	}
	at := 0
	for at < min(len(again), len(data)) && again[at] == data[at] {
		at++
	}
	return fmt.Errorf("%w: byte %d of the archive is not what spdl writes there", ErrDossier, at)
}
