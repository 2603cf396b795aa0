package signer

import (
	"errors"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/consent"
)

// The paths of requests.
const (
	pathKeys      = "/v1/keys"
	pathOpen      = "/v1/open"
	pathGradient  = "/v1/gradient"
	pathCommit    = "/v1/commit"
	pathAggregate = "/v1/aggregate"
	pathOperation = "/v1/operation"
	pathConsent   = "/v1/consent"
)

// Consent is the word of a Policy's Allow for records of consent, beside the kinds of operations.
const Consent = "consent"

// Kinds returns the words that a Policy's Allow takes.
func Kinds() []string {
	all := []string{Consent}
	for _, k := range tx.Kinds() {
		if k.Signed() && !ofRound(k) {
			all = append(all, k.String())
		}
	}
	return all
}

// ofRound reports whether a kind belongs to a round: those have a path each, and no word.
func ofRound(k tx.Kind) bool {
	return k == tx.KindGradient || k == tx.KindCommit || k == tx.KindAggregate
}

// maxRequest bounds the bytes of a request: a gradient with its momentum.
const maxRequest = 256 << 20

type keysRequest struct {
	Reload bool `json:"reload"`
}

type openRequest struct {
	ChainID string `json:"chain_id"`
	ID      []byte `json:"participant_id"`
}

// contentRequest asks for the signature of an encoded message, which the server decodes.
type contentRequest struct {
	ChainID string  `json:"chain_id"`
	Kind    tx.Kind `json:"kind"`
	Content []byte  `json:"content"`
}

// consentRequest asks for a record of consent, which the server makes with its own clock.
type consentRequest struct {
	Subject  consent.Subject  `json:"subject"`
	Decision consent.Decision `json:"decision"`
}

// answer is a signed transaction.
type answer struct {
	Raw []byte `json:"raw"`
}

// refusal is the answer to a request that failed. Kind names the error that the client returns.
type refusal struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"`
}

// errorsByKind are the errors that a worker tells apart.
var errorsByKind = map[string]error{
	"signed": worker.ErrSigned, "foreign": worker.ErrForeign, "rate": worker.ErrRate, "draft": worker.ErrDraft,
	"journal": worker.ErrJournal, "damaged": worker.ErrDamaged, "busy": worker.ErrBusy, "denied": ErrDenied,
}

// ErrDenied means that the signer's configuration does not allow what it is asked for.
var ErrDenied = errors.New("the signer does not sign this")

func kindOf(err error) string {
	for kind, e := range errorsByKind {
		if errors.Is(err, e) {
			return kind
		}
	}
	return ""
}

// remoteError is an error of the server, in its words.
type remoteError struct {
	text string
	is   error
}

func (e remoteError) Error() string { return "signer: " + e.text }
func (e remoteError) Unwrap() error { return e.is }
