package dossier

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
	maxSheet  = 256 << 10
	maxAnswer = 4 << 10
)

// sheetDomain is the prefix of the bytes that a member signs. No other message of the project begins with it.
const sheetDomain = "spdl/data-sheet/v1\n"

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
	return append([]byte(sheetDomain), text...)
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
		if len(text) > maxAnswer || !utf8.ValidString(text) {
			return fmt.Errorf("%w: %s has %d bytes, at most %d of UTF-8", ErrSheet, key, len(text), maxAnswer)
		}
	}
	return nil
}

// Verify returns an error unless the signature is by the key Signer. The chain says to which member that key belongs.
func (s Sheet) Verify(chainID string) error {
	if len(s.Signer) != ed25519.PublicKeySize || !ed25519.Verify(s.Signer, s.content(chainID), s.Signature) {
		return fmt.Errorf("%w: its signature is not one of %X for participant %d of chain %q", ErrSheet, s.Signer,
			s.Participant, chainID)
	}
	return nil
}

// ReadSheetFile reads a data sheet.
func ReadSheetFile(path string) (Sheet, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Sheet{}, err
	}
	s, err := ReadSheet(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return s, err
}

// ReadSheet decodes a data sheet in TOML. Every key must be one of the template.
func ReadSheet(data []byte) (Sheet, error) {
	s := Sheet{Answers: map[string]string{}}
	if len(data) > maxSheet {
		return s, fmt.Errorf("%w: %d bytes, at most %d", ErrSheet, len(data), maxSheet)
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

// SheetTemplate returns a data sheet to fill in.
func SheetTemplate() string {
	var out strings.Builder
	out.WriteString("# Data sheet of one member, for spdl dossier --data-sheet FILE. The dossier prints every text as\n" +
		"# declared, which is the member's word. Leave out what does not apply.\n\nparticipant = 0 # the member's index " +
		"(spdl query participants)\n")
	for _, f := range Fields {
		fmt.Fprintf(&out, "\n# %s (%s)\n%s = \"\"\n", f.Asks, strings.Join(f.Supports, ", "), f.Key)
	}
	return out.String()
}

// SignSheet signs the TOML of a sheet. It returns the text with two more lines.
func SignSheet(data []byte, chainID string, key ed25519.PrivateKey) ([]byte, error) {
	s, err := ReadSheet(data)
	if err != nil {
		return nil, err
	}
	if s.Signed() {
		return nil, fmt.Errorf("%w: it is signed already: remove signer and signature", ErrSheet)
	}
	s = s.Sign(chainID, key)
	signed := fmt.Appendf(data[:len(data):len(data)], "\n# for chain %q\nsigner = \"%x\"\nsignature = \"%x\"\n", chainID,
		s.Signer, s.Signature)
	if s, err = ReadSheet(signed); err != nil {
		return nil, err
	}
	return signed, s.Verify(chainID)
}

// Field is a question of a data sheet.
type Field struct {
	Key      string   // in the file
	Asks     string   // what the member answers
	Supports []string // points of the mapping tables
}

// Fields are the questions, in the order of the template and of the page.
var Fields = []Field{
	{"controller", "who is responsible for the data: name, address, representative", []string{"30(1)(a)"}},
	{"contact", "whom to ask, and the data protection officer", []string{"30(1)(a)"}},
	{"intended_purpose", "what the trained model is for, and for whom", []string{"IV 1(a)", "30(1)(b)", "35(7)(a)"}},
	{"users", "who uses the model, on which hardware, with which interface", []string{"IV 1(e)", "IV 1(g)", "IV 1(h)"}},
	{"interaction", "other systems, hardware or software that the model works with", []string{"IV 1(b)", "IV 1(d)"}},
	{"legal_basis", "the legal basis of the processing", []string{"35(7)(a)"}},
	{"necessity", "why the processing is necessary and proportionate", []string{"35(7)(b)"}},
	{"subjects", "whose data they are: categories of persons", []string{"30(1)(c)", "IV 2(d)"}},
	{"data_categories", "which data: columns or images, special categories", []string{"30(1)(c)", "IV 2(d)"}},
	{"origin", "where the data come from, how and when they were collected and labelled", []string{"IV 2(d)"}},
	{"amount", "how many examples and persons, from when to when", []string{"IV 2(d)"}},
	{"preparation", "cleaning, missing values, outliers, duplicates", []string{"IV 2(d)"}},
	{"known_bias", "groups that are rare or missing, known errors", []string{"IV 2(d)", "IV 3"}},
	{"recipients", "the recipients of data or results", []string{"30(1)(d)"}},
	{"transfers", "transfers to third countries, and their safeguards", []string{"30(1)(e)"}},
	{"retention", "when which data are erased", []string{"30(1)(f)"}},
	{"security", "technical and organisational measures on this member's hosts",
		[]string{"30(1)(g)", "35(7)(d)", "IV 2(h)"}},
	{"side_channels", "what else leaves the hosts: logs, timing, access of staff", []string{"35(7)(d)"}},
	{"risks", "risks to the rights of the persons, as assessed", []string{"35(7)(c)", "IV 3", "IV 5"}},
	{"oversight", "who watches the model's use, and can stop it", []string{"IV 2(e)", "IV 3"}},
	{"performance", "metrics, why they are appropriate, and measured results", []string{"IV 2(g)", "IV 3", "IV 4"}},
	{"standards", "harmonised standards or other specifications applied", []string{"IV 7"}},
	{"conformity", "the EU declaration of conformity", []string{"IV 8"}},
	{"monitoring", "the plan for the time after release", []string{"IV 9"}},
	{"software", "program, libraries, operating system and hardware of this member", []string{"IV 1(c)", "IV 1(e)"}},
}
