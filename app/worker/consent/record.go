package consent

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// ErrRecord means that a record is damaged, or that its signature is not valid for its PubKey.
var ErrRecord = errors.New("record of consent")

// Decision is a home's decision on an epoch.
type Decision string

// These are the decisions. Awaited stands for the absence of a decision.
const (
	Awaited   Decision = "awaited"
	Consented Decision = "consented"
	Rejected  Decision = "rejected"
)

// Subject names the chain, the epoch and the parameters that a decision is about.
type Subject struct {
	ChainID string `json:"chain_id"`
	Epoch   uint64 `json:"epoch"`
	Params  string `json:"params_hash"` // SHA-256 of the epoch's parameters in protobuf, in hexadecimal
}

// SubjectOf returns the subject of a decision on the given epoch of the given chain, with the parameters p.
func SubjectOf(chainID string, epoch uint64, p params.Params) (Subject, error) {
	encoded, err := p.Marshal()
	if err != nil {
		return Subject{}, fmt.Errorf("parameters of epoch %d: %w", epoch, err)
	}
	hash := sha256.Sum256(encoded)
	return Subject{ChainID: chainID, Epoch: epoch, Params: hex.EncodeToString(hash[:])}, nil
}

// Record is a signed decision.
type Record struct {
	Subject
	Decision  Decision  `json:"decision"`
	Time      time.Time `json:"time"`
	PubKey    []byte    `json:"pub_key"` // the public key of the participant that decides
	Signature []byte    `json:"signature,omitempty"`
}

// domain is the beginning of the signed bytes. No transaction or VRF input begins with it.
const domain = "spdl/consent/v1\n"

// signBytes returns the bytes that the signature covers: the domain, and the record's JSON without a signature.
func (r Record) signBytes() ([]byte, error) {
	r.Signature = nil
	text, err := json.Marshal(r)
	return append([]byte(domain), text...), err
}

// Sign returns a signed record, with the time truncated to seconds. d must be Consented or
// Rejected; if not, Sign fails.
func Sign(about Subject, d Decision, at time.Time, key ed25519.PrivateKey) (Record, error) {
	r := Record{Subject: about, Decision: d, Time: at.UTC().Truncate(time.Second),
		PubKey: key.Public().(ed25519.PublicKey)}
	if d != Consented && d != Rejected {
		return r, fmt.Errorf("%w: the decision is %q, want %q or %q", ErrRecord, d, Consented, Rejected)
	}
	text, err := r.signBytes()
	if err == nil {
		r.Signature = ed25519.Sign(key, text)
	}
	return r, err
}

// verify checks the form and the signature of a record.
func (r Record) verify() error {
	if len(r.PubKey) != ed25519.PublicKeySize || r.Decision != Consented && r.Decision != Rejected {
		return fmt.Errorf("%w: a key of %d bytes decides %q, want %d bytes and %q or %q", ErrRecord, len(r.PubKey),
			r.Decision, ed25519.PublicKeySize, Consented, Rejected)
	}
	text, err := r.signBytes()
	if err != nil {
		return err
	}
	if !ed25519.Verify(r.PubKey, text, r.Signature) {
		return fmt.Errorf("%w: the signature about epoch %d is not one of %X", ErrRecord, r.Epoch, r.PubKey)
	}
	return nil
}

// DecisionOf returns a participant's decision on a subject, and the record of that decision. The decision is that of
// the last record with a signature by the participant's current key or a former key: a rotation of the key does not
// withdraw a decision. Without such a record the decision is Awaited, and the record is empty.
func DecisionOf(all []Record, about Subject, p app.Participant) (Decision, Record) {
	for _, r := range slices.Backward(all) {
		if r.Subject == about && isKeyOf(r.PubKey, p) {
			return r.Decision, r
		}
	}
	return Awaited, Record{}
}

func isKeyOf(key []byte, p app.Participant) bool {
	return string(key) == string(p.PubKey) ||
		slices.ContainsFunc(p.FormerKeys, func(f app.FormerKey) bool { return string(f.PubKey) == string(key) })
}
