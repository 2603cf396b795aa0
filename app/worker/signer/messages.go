package signer

import (
	"errors"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/consent"
)

// These are the paths of the requests.
const (
	pathKeys      = "/v1/keys"
	pathOpen      = "/v1/open"
	pathGradient  = "/v1/gradient"
	pathCommit    = "/v1/commit"
	pathAggregate = "/v1/aggregate"
	pathOperation = "/v1/operation"
	pathConsent   = "/v1/consent"
)

// Consent is the word for records of consent in a Policy's Allow, whose other words name kinds of
// operations.
const Consent = "consent"

// Kinds returns the words that may be in a Policy's Allow. A rotation is none of them: it runs with the signer's home,
// and a node that may ask for one makes the participant its own.
func Kinds() []string {
	all := []string{Consent}
	for _, k := range tx.Kinds() {
		if k.Signed() && !ofRound(k) && k != tx.KindRotate {
			all = append(all, k.String())
		}
	}
	return all
}

// ofRound reports whether a kind belongs to a round. Each of these has its own path, and needs no
// word in a Policy's Allow.
func ofRound(k tx.Kind) bool {
	return k == tx.KindGradient || k == tx.KindCommit || k == tx.KindAggregate
}

// maxRequest bounds the bytes of a request and of an answer: a gradient of gradients.MaxDim coordinates with
// its momentum, in base64.
const maxRequest = 32 << 20

// maxRefusal bounds, in bytes, the text of a refusal and a text in the log. Both may repeat text of
// the request.
const maxRefusal = 1 << 10

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

// answer carries a signed transaction.
type answer struct {
	Raw []byte `json:"raw"`
}

// refusal is the answer to a request that failed. Kind names the error that the client returns.
type refusal struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"`
}

// errorsByKind holds the errors between which a worker distinguishes, by their names on the wire.
var errorsByKind = map[string]error{
	"signed": worker.ErrSigned, "foreign": worker.ErrForeign, "rate": worker.ErrRate, "draft": worker.ErrDraft,
	"journal": worker.ErrJournal, "damaged": worker.ErrDamaged, "busy": worker.ErrBusy, "denied": ErrDenied,
}

// ErrDenied means that the signer's configuration does not allow the request.
var ErrDenied = errors.New("the signer does not sign this")

func kindOf(err error) string {
	for kind, e := range errorsByKind {
		if errors.Is(err, e) {
			return kind
		}
	}
	return ""
}

// remoteError is an error of the server, with the server's text.
type remoteError struct {
	text string
	is   error
}

func (e remoteError) Error() string { return "signer: " + e.text }
func (e remoteError) Unwrap() error { return e.is }
