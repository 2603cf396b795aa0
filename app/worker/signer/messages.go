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

// Consent is an entry of Policy.Allow. It permits the signer to sign records of consent. Every
// other entry is the name of a kind of operation.
const Consent = "consent"

// Kinds returns the entries that Policy.Allow may have. A rotation is not among them: with a
// rotation, a node could replace the participant's keys by the node's own keys. An operator rotates
// keys with the signer's home. A Present needs no entry: the worker sends it as it sends gradients.
func Kinds() []string {
	all := []string{Consent}
	for _, k := range tx.Kinds() {
		if k.Signed() && !ofRound(k) && k != tx.KindRotate && k != tx.KindPresent {
			all = append(all, k.String())
		}
	}
	return all
}

// ofRound reports whether a kind belongs to a round. Each kind of a round has its own path, and
// needs no entry in Policy.Allow.
func ofRound(k tx.Kind) bool {
	return k == tx.KindGradient || k == tx.KindCommit || k == tx.KindAggregate
}

// maxRequest is the max size in bytes of a request or an answer. The largest request has, in
// base64, a gradient with gradients.MaxDim coordinates and its momentum.
const maxRequest = 32 << 20

// maxRefusal bounds, in bytes, the text of a refusal, and a text in the server's log. Either may
// repeat text of the request.
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

// refusal is the answer to a request that failed. Kind is a key of errorsByKind, or empty.
type refusal struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"`
}

// errorsByKind holds the errors that a client can tell apart, by their names on the wire. For any
// other error the client returns worker.ErrSigner.
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

// remoteError is an error from the server, with the server's text.
type remoteError struct {
	text  string
	cause error // the wrapped error
}

func (e remoteError) Error() string { return "signer: " + e.text }
func (e remoteError) Unwrap() error { return e.cause }
