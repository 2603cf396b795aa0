package sheet

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
)

// domain is the prefix of the bytes that a member signs. No other message of the project begins
// with it.
const domain = "spdl/data-sheet/v1\n"

// Signed reports whether the sheet has a signature.
func (s Sheet) Signed() bool { return len(s.Signer) > 0 || len(s.Signature) > 0 }

// content returns the bytes that the member signs: the id of one chain, and the answers by their
// keys.
func (s Sheet) content(chainID string) ([]byte, error) {
	answers := map[string]string{}
	for _, f := range Fields {
		if text := s.Text(f.Key); text != "" {
			answers[f.Key] = text
		}
	}
	text, err := json.Marshal(struct {
		ChainID     string            `json:"chain_id"`
		Participant uint32            `json:"participant"`
		Answers     map[string]string `json:"answers"`
	}{chainID, s.Participant, answers})
	return append([]byte(domain), text...), err
}

// Sign returns the sheet of a chain's member with its signature.
func (s Sheet) Sign(chainID string, key ed25519.PrivateKey) (Sheet, error) {
	text, err := s.content(chainID)
	s.Signer, s.Signature = key.Public().(ed25519.PublicKey), ed25519.Sign(key, text)
	return s, err
}

// Verify returns an error unless the signature is by the key Signer. The chain says to which member
// that key belongs.
func (s Sheet) Verify(chainID string) error {
	if err := s.Check(); err != nil {
		return err
	}
	text, err := s.content(chainID)
	if err == nil && (!s.Signed() || !ed25519.Verify(s.Signer, text, s.Signature)) {
		err = fmt.Errorf("%w: its signature is not one of %X for participant %d of chain %q", ErrSheet, s.Signer,
			s.Participant, chainID)
	}
	return err
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
	if s, err = s.Sign(chainID, key); err != nil {
		return nil, err
	}
	signed := fmt.Appendf(data[:len(data):len(data)], "\n# for chain %q\nsigner = \"%x\"\nsignature = \"%x\"\n", chainID,
		s.Signer, s.Signature)
	again, err := Read(signed)
	if err != nil {
		return nil, err
	}
	return signed, again.Verify(chainID)
}
