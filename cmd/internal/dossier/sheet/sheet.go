package sheet

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// ErrSheet means that a file is not a data sheet.
var ErrSheet = errors.New("not a data sheet")

// The bounds of a data sheet, in bytes.
const (
	MaxFile = 256 << 10
	MaxText = 4 << 10
)

// Sheet is the declaration of a member. Texts has an answer for each of Fields, or "".
type Sheet struct {
	Participant uint32   `json:"participant"`
	Texts       []string `json:"texts"`
	Signer      []byte   `json:"signer,omitempty"`    // ed25519 public key of the member, none for an unsigned sheet
	Signature   []byte   `json:"signature,omitempty"` // by that key
}

// Check rejects a sheet with other fields or longer texts than a file may have, and a sheet with
// only one of Signer and Signature.
func (s Sheet) Check() error {
	if s.Signed() && (len(s.Signer) != ed25519.PublicKeySize || len(s.Signature) != ed25519.SignatureSize) {
		return fmt.Errorf("%w: signer and signature have %d and %d bytes, want %d and %d, or neither", ErrSheet,
			len(s.Signer), len(s.Signature), ed25519.PublicKeySize, ed25519.SignatureSize)
	}
	if len(s.Texts) != len(Fields) {
		return fmt.Errorf("%w: it has %d answers, want %d", ErrSheet, len(s.Texts), len(Fields))
	}
	for i, text := range s.Texts {
		if len(text) > MaxText || !utf8.ValidString(text) {
			return fmt.Errorf("%w: %s has %d bytes, at most %d of UTF-8", ErrSheet, Fields[i].Key, len(text), MaxText)
		}
	}
	return nil
}

// Text returns the answer to a field, "" for none.
func (s Sheet) Text(key string) string {
	for i, f := range Fields {
		if f.Key == key && i < len(s.Texts) {
			return s.Texts[i]
		}
	}
	return ""
}

// ReadFile reads a data sheet.
func ReadFile(path string) (Sheet, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Sheet{}, err
	}
	if info.Size() > MaxFile {
		return Sheet{}, fmt.Errorf("%s: %w: %d bytes, at most %d", path, ErrSheet, info.Size(), MaxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Sheet{}, err
	}
	s, err := Read(data)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Read decodes a data sheet in TOML. Every key must be one of the template.
func Read(data []byte) (Sheet, error) {
	var file map[string]any
	if err := toml.NewDecoder(bytes.NewReader(data)).Decode(&file); err != nil {
		return Sheet{}, fmt.Errorf("%w: %w", ErrSheet, err)
	}
	index, ok := file["participant"].(int64)
	if !ok || index < 0 || index >= 1<<31 {
		return Sheet{}, fmt.Errorf("%w: participant is %v, want the member's index, from 0 on", ErrSheet, file["participant"])
	}
	s := Sheet{Participant: uint32(index), Texts: make([]string, len(Fields))}
	delete(file, "participant")
	for key, to := range map[string]*[]byte{"signer": &s.Signer, "signature": &s.Signature} {
		text, _ := file[key].(string)
		raw, err := hex.DecodeString(text)
		if given := file[key] != nil; err != nil || given && len(raw) == 0 {
			return Sheet{}, fmt.Errorf("%w: %s is %.80q, want hex digits", ErrSheet, key, fmt.Sprint(file[key]))
		}
		*to = raw
		delete(file, key)
	}
	for i, f := range Fields {
		value, given := file[f.Key]
		text, ok := value.(string)
		if given && !ok {
			return Sheet{}, fmt.Errorf("%w: %s is %v, want a text", ErrSheet, f.Key, value)
		}
		s.Texts[i] = strings.TrimSpace(text)
		delete(file, f.Key)
	}
	for key := range file {
		return Sheet{}, fmt.Errorf("%w: %.80q is no key of it: spdl dossier --template prints those that there are", ErrSheet,
			key)
	}
	return s, s.Check()
}

// Template returns a data sheet to fill in.
func Template() string {
	var out strings.Builder
	out.WriteString("# Data sheet of one member, for spdl dossier --data-sheet FILE. The dossier prints every text as\n" +
		"# declared, which is the member's word. Leave out what does not apply.\n\nparticipant = 0 # the member's index " +
		"(spdl query participants)\n")
	for _, f := range Fields {
		fmt.Fprintf(&out, "\n# %s (%s)\n%s = \"\"\n", f.Asks, strings.Join(f.Supports, ", "), f.Key)
	}
	return out.String()
}
