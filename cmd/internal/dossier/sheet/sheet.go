package sheet

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
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

// domain is the prefix of the bytes that a member signs. No other message of the project begins
// with it.
const domain = "spdl/data-sheet/v1\n"

// Sheet is the declaration of a member.
type Sheet struct {
	Participant uint32            `json:"participant"`
	Answers     map[string]string `json:"answers"`             // by the key of a field
	Signer      []byte            `json:"signer,omitempty"`    // ed25519 public key of the member, none if unsigned
	Signature   []byte            `json:"signature,omitempty"` // by that key
}

// Signed reports whether the sheet has a signature.
func (s Sheet) Signed() bool { return len(s.Signer) > 0 || len(s.Signature) > 0 }

// content returns the bytes that the member signs: the id of one chain, and the answers.
func (s Sheet) content(chainID string) []byte {
	s.Signer, s.Signature = nil, nil
	text, err := json.Marshal(struct {
		ChainID string `json:"chain_id"`
		Sheet
	}{chainID, s})
	if err != nil {
		panic(err) // JSON encodes texts without error
	}
	return append([]byte(domain), text...)
}

// Sign returns the sheet of a chain's member with its signature.
func (s Sheet) Sign(chainID string, key ed25519.PrivateKey) Sheet {
	s.Signer, s.Signature = key.Public().(ed25519.PublicKey), ed25519.Sign(key, s.content(chainID))
	return s
}

// Check rejects answers that a file cannot have, and a sheet with only one of Signer and Signature.
func (s Sheet) Check() error {
	if s.Signed() && (len(s.Signer) != ed25519.PublicKeySize || len(s.Signature) != ed25519.SignatureSize) {
		return fmt.Errorf("%w: signer and signature have %d and %d bytes, want %d and %d, or neither", ErrSheet,
			len(s.Signer), len(s.Signature), ed25519.PublicKeySize, ed25519.SignatureSize)
	}
	for key, text := range s.Answers {
		if !slices.ContainsFunc(Fields, func(f Field) bool { return f.Key == key }) {
			return fmt.Errorf("%w: %.80q is no key of it: spdl dossier --template prints those that there are", ErrSheet, key)
		}
		if len(text) > MaxText || !utf8.ValidString(text) {
			return fmt.Errorf("%w: %s has %d bytes, at most %d of UTF-8", ErrSheet, key, len(text), MaxText)
		}
	}
	return nil
}

// Verify returns an error unless the signature is by the key Signer. The chain says to which member
// that key belongs.
func (s Sheet) Verify(chainID string) error {
	if len(s.Signer) != ed25519.PublicKeySize || !ed25519.Verify(s.Signer, s.content(chainID), s.Signature) {
		return fmt.Errorf("%w: its signature is not one of %X for participant %d of chain %q", ErrSheet, s.Signer,
			s.Participant, chainID)
	}
	return nil
}

// ReadFile reads a data sheet.
func ReadFile(path string) (Sheet, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Sheet{}, err
	}
	s, err := Read(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return s, err
}

// Read decodes a data sheet in TOML. Every key must be one of the template.
func Read(data []byte) (Sheet, error) {
	s := Sheet{Answers: map[string]string{}}
	if len(data) > MaxFile {
		return s, fmt.Errorf("%w: %d bytes, at most %d", ErrSheet, len(data), MaxFile)
	}
	var file map[string]any
	if err := toml.Unmarshal(data, &file); err != nil {
		return s, fmt.Errorf("%w: %w", ErrSheet, err)
	}
	index, ok := file["participant"].(int64)
	if !ok || index < 0 || index >= 1<<31 {
		return s, fmt.Errorf("%w: participant is %v, want the member's index, from 0 on", ErrSheet, file["participant"])
	}
	s.Participant = uint32(index)
	delete(file, "participant")
	for key, value := range file {
		text, isText := value.(string)
		raw, err := hex.DecodeString(text)
		switch isHex := isText && err == nil && len(raw) > 0; {
		case key == "signer" && isHex:
			s.Signer = raw
		case key == "signature" && isHex:
			s.Signature = raw
		case !isText || key == "signer" || key == "signature":
			return s, fmt.Errorf("%w: %.80q is %.80v, want a text, of hex digits for a signature", ErrSheet, key, value)
		case strings.TrimSpace(text) != "":
			s.Answers[key] = strings.TrimSpace(text)
		}
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

// SignFile signs the TOML of a sheet. It returns the text with two more lines.
func SignFile(data []byte, chainID string, key ed25519.PrivateKey) ([]byte, error) {
	s, err := Read(data)
	if err != nil {
		return nil, err
	}
	if s.Signed() {
		return nil, fmt.Errorf("%w: it is signed already: remove signer and signature", ErrSheet)
	}
	s = s.Sign(chainID, key)
	signed := fmt.Appendf(data[:len(data):len(data)], "\n# for chain %q\nsigner = \"%x\"\nsignature = \"%x\"\n", chainID,
		s.Signer, s.Signature)
	if s, err = Read(signed); err != nil {
		return nil, err
	}
	return signed, s.Verify(chainID)
}
