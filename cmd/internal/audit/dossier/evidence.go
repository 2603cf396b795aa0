package dossier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// Version is the version of the format of a dossier.
const Version = "spdl/dossier/v2"

// ErrDossier wraps every reason why a file is no dossier, or does not say what its evidence proves.
var ErrDossier = errors.New("dossier does not verify")

// Evidence is what the page of a dossier is made from.
type Evidence struct {
	Version string `json:"version"`
	// Bundle proves the card of the last model. Its header is the last header of the dossier, and
	// the values below are proven for the same state.
	Bundle    modelfile.Bundle `json:"bundle"`
	Closed    proof.Proven     `json:"closed"`
	History   proof.Proven     `json:"history"`
	Offences  proof.Proven     `json:"offences"`
	Proposals proof.Proven     `json:"proposals"`
	Records   [][]byte         `json:"records"` // of all closed rounds; their hashes are the leaves of the tree History
	Members   []Members        `json:"members"` // on both sides of each change of members or their keys
	Headers   [][]byte         `json:"headers"` // of all heights up to the bundle's, in protobuf
	// Log has the bundle's header as its last. The results of its entries are the word of the author's replay.
	Log *audit.Log `json:"log"`
	// Handover lets the release that executes the later heights continue. A reader of the dossier gets no proof of it,
	// and no sentence rests on it. It is nil unless the dossier ends at an upgrade.
	Handover *audit.Handover `json:"handover,omitempty"`
	Declared Declaration     `json:"declared"`
}

// Members are all participants at a height. The application hash in the header of that height proves them.
type Members struct {
	Height uint64       `json:"height"`
	Proven proof.Proven `json:"participants"`
}

// Declaration is what the author of a dossier says without proof.
type Declaration struct {
	Signer  []byte  `json:"signer"`  // public key that signs the archive
	Program string  `json:"program"` // the program that made the dossier
	Sheets  []Sheet `json:"sheets"`  // by participant
	// Unproven names the rounds that the author's replay closed with the last blocks, and that no
	// header of the dossier proves.
	Unproven []string `json:"unproven,omitempty"`
}

// Encode returns the evidence in JSON.
func (e *Evidence) Encode() ([]byte, error) { return json.Marshal(e) }

// Decode decodes evidence. It accepts only bytes that Encode writes.
func Decode(data []byte) (*Evidence, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	e := new(Evidence)
	if err := in.Decode(e); err != nil {
		return nil, fmt.Errorf("%w: evidence: %w", ErrDossier, err)
	}
	if e.Version != Version {
		return nil, fmt.Errorf("%w: its version is %.40q, this program reads %q", ErrDossier, e.Version, Version)
	}
	if again, err := e.Encode(); err != nil || !bytes.Equal(again, data) {
		return nil, fmt.Errorf("%w: the evidence is not in the form in which it was written", errors.Join(ErrDossier, err))
	}
	if e.Log == nil {
		return nil, fmt.Errorf("%w: it has no log of operations", ErrDossier)
	}
	return e, nil
}
