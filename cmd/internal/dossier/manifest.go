package dossier

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/spdl/spdl/cmd/internal/dossier/evidence"
)

// Manifest lists the files of an archive with their hashes. Its signature covers the whole
// manifest.
type Manifest struct {
	Version   string  `json:"version"`
	ChainID   string  `json:"chain_id"`
	Height    uint64  `json:"height"` // of the header that the proofs lead to
	Header    string  `json:"header"` // its hash
	Files     []Entry `json:"files"`
	Signer    []byte  `json:"signer"` // ed25519 public key
	Signature []byte  `json:"signature,omitempty"`
}

// Entry is a file of an archive.
type Entry struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// domain is the prefix of the signed bytes. No transaction, consent or VRF input begins with it.
const domain = evidence.Version + "\n"

// signed returns the bytes that are signed: the domain and the manifest's JSON without a signature.
func (m Manifest) signed() ([]byte, error) {
	m.Signature = nil
	text, err := json.Marshal(m)
	return append([]byte(domain), text...), err
}

// manifestOf returns the unsigned manifest of an archive's contents.
func manifestOf(f *evidence.Facts, contents map[string][]byte, signer []byte) Manifest {
	m := Manifest{Version: evidence.Version, ChainID: f.Last().ChainID, Height: f.Height,
		Header: hex.EncodeToString(f.Last().Hash()), Signer: signer}
	for _, name := range files {
		if name != manifestFile {
			hash := sha256.Sum256(contents[name])
			m.Files = append(m.Files, Entry{name, len(contents[name]), hex.EncodeToString(hash[:])})
		}
	}
	return m
}

// sign returns the bytes of the manifest, signed.
func (m Manifest) sign(key ed25519.PrivateKey) ([]byte, error) {
	text, err := m.signed()
	if err != nil {
		return nil, err
	}
	m.Signature = ed25519.Sign(key, text)
	return json.Marshal(m)
}

// check returns an error unless data is the manifest, signed by its signer.
func (m Manifest) check(data []byte) error {
	var said Manifest
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&said); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDossier, manifestFile, err)
	}
	for i, f := range said.Files {
		if i < len(m.Files) && f != m.Files[i] {
			return fmt.Errorf("%w: %.80s has %d bytes of hash %s, the manifest says %d of %.64s", ErrDossier,
				m.Files[i].Name,
				m.Files[i].Bytes, m.Files[i].SHA256, f.Bytes, f.SHA256)
		}
	}
	m.Signature = said.Signature
	again, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("%w: %s is not that of its files", ErrDossier, manifestFile)
	}
	text, err := m.signed()
	if err != nil {
		return err
	}
	if len(m.Signer) != ed25519.PublicKeySize || !ed25519.Verify(m.Signer, text, m.Signature) {
		return fmt.Errorf("%w: its signature is not one of %X", ErrDossier, m.Signer)
	}
	return nil
}
