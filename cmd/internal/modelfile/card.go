// Package modelfile writes a trained model to a safetensors or npz file, with a card that states the model's origin
// and the proof of that card, and reads such files. It checks them, and what a node answers, against headers that the
// verifier trusts.
package modelfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/caveat"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/privacy/accountant"
)

// Version is the version of the format of card and proof.
const Version = "spdl/model/v2"

// ErrFile means that a file is not one that Encode has written.
var ErrFile = errors.New("not an exported model")

// Uncontained is the only value of Card.ExporterTrainer.
const Uncontained = "not contained"

// Card describes a model. All fields except Accuracy, Tested and ExporterTrainer follow from the proof.
type Card struct {
	Version string `json:"version"`
	ChainID string `json:"chain_id"`
	Epoch   uint64 `json:"epoch"`
	Round   uint64 `json:"round"`  // the closed round whose result is the model
	Rounds  uint64 `json:"rounds"` // planned in the epoch
	Closed  uint64 `json:"closed"` // height that closed the round
	Preset  string `json:"preset,omitempty"`
	Rule    string `json:"rule"`
	// The number of active participants in the state of the header, because the record does not hold the round's N.
	Participants int          `json:"participants"`
	Byzantine    int          `json:"byzantine"` // f for that number, by the params of the round's epoch
	Included     int          `json:"included"`  // gradients in the round
	Model        params.Model `json:"model"`
	ModelHash    string       `json:"model_hash"`
	Mechanism    string       `json:"mechanism"`
	// Epsilon is the largest spent epsilon of a participant in all rounds up to Height, at Delta, rounded up to four
	// decimals. Null means NO DP GUARANTEE. On a test chain the noise may be known, so Epsilon guarantees nothing.
	Epsilon   *float64 `json:"epsilon"`
	Delta     float64  `json:"delta,omitempty"`
	TestChain bool     `json:"test_chain,omitempty"`
	// Unit is the unit of privacy. It is empty if the unit is an example.
	Unit string `json:"unit,omitempty"`
	// Lemma1Epsilon is the epsilon that the paper's Lemma 1 claims. It is 0 unless the epoch's
	// noise follows the lemma, and it is never a guarantee.
	Lemma1Epsilon float64 `json:"lemma1_epsilon,omitempty"`
	// Accuracy is the exporter's measurement on the test set that Tested names. The proof covers
	// neither: spdl model eval measures it again.
	Accuracy *float64 `json:"accuracy"`
	Tested   string   `json:"tested,omitempty"`
	// ExporterTrainer is Uncontained if the node that exported the model declares that its own trainer
	// is not. The proof does not cover it, and it says nothing about other participants.
	ExporterTrainer string `json:"exporter_trainer,omitempty"`
	// Adapted is set if the parameters are not those of the round, but were fitted to a member's rows
	// from them. The rest of the card describes the round, and the proof covers nothing of Adapted.
	Adapted *Adaptation `json:"adapted,omitempty"`

	Height  int64  `json:"height"` // of the header that has the application hash
	AppHash string `json:"app_hash"`
	Proof   Bundle `json:"proof"`
	// Digest is the SHA-256 of the card's JSON with an empty digest. It detects damage to fields
	// that the proof does not cover.
	Digest string `json:"digest"`
}

// Private is the only value of Adaptation.Privacy.
const Private = "private to its owner: fitted to the owner's rows without noise, no epsilon bounds what it tells"

// Adaptation says how a member fitted a model to its own rows (package adapt).
type Adaptation struct {
	Way     string    `json:"way"`
	Lambda  float64   `json:"lambda,omitempty"`
	Hash    string    `json:"hash"`           // of the file's parameters, as Card.ModelHash is of the round's
	Odds    []float64 `json:"odds,omitempty"` // slope and intercept of an external model's log odds; its parameters stay
	Privacy string    `json:"privacy"`
}

// File is an exported model.
type File struct {
	Card       Card
	Parameters []float64
}

// New returns the file of a model and its proof, to which it adds the header. It fails if the proof
// does not cover the model.
func New(parameters []float64, header *types.LightBlock, proven proof.Bundle) (*File, error) {
	encoded, err := EncodeHeader(header)
	if err != nil {
		return nil, err
	}
	f := &File{Parameters: parameters}
	if f.Card, err = (Bundle{encoded, proven}).Describe(); err != nil {
		return nil, err
	}
	f.Card.seal()
	return f, f.Check()
}

// Measured writes the measured accuracy on the card.
func (f *File) Measured(accuracy float64, tested string) {
	f.Card.Accuracy, f.Card.Tested = &accuracy, tested
	f.Card.seal()
}

// Declared writes on the card that the exporting node's own trainer is not contained.
func (f *File) Declared() {
	f.Card.ExporterTrainer = Uncontained
	f.Card.seal()
}

// Adapt replaces the parameters by those that a member fitted from them. Of an external model they stay, and the fitted
// ones are its odds.
func (f *File) Adapt(way string, lambda float64, fitted []float64) {
	a := &Adaptation{Way: way, Lambda: lambda, Privacy: Private}
	if f.Card.Model.Kind == params.ModelExternal {
		a.Odds = fitted
	} else {
		f.Parameters = fitted
	}
	hash := app.ModelHash(f.Parameters)
	a.Hash = hex.EncodeToString(hash[:])
	f.Card.Accuracy, f.Card.Tested, f.Card.Adapted = nil, "", a
	f.Card.seal()
}

// CheckProven is Check for a file whose parameters are those of the round. It rejects an adapted model.
func (f *File) CheckProven() error {
	if f.Card.Adapted != nil {
		return fmt.Errorf("%w: a member adapted the model to its own rows: the chain knows the model from which it began, "+
			"of hash %.64s", proof.ErrNotProven, f.Card.ModelHash)
	}
	return f.Check()
}

// Check verifies everything that needs no trust: the parameters against the record, the proofs against the header's
// application hash, and the card against the proven values. It does not check that the header belongs to the chain.
func (f *File) Check() error {
	digest := f.Card.Digest
	f.Card.seal()
	if computed := f.Card.Digest; computed != digest {
		f.Card.Digest = digest
		return fmt.Errorf("%w: the card was changed: its digest is %.64s, computed %s", proof.ErrNotProven, digest, computed)
	}
	want, err := f.Card.Proof.Describe()
	if err != nil {
		return err
	}
	want.Accuracy, want.Tested = f.Card.Accuracy, f.Card.Tested
	if f.Card.ExporterTrainer == Uncontained {
		want.ExporterTrainer = Uncontained
	}
	said := f.Card.ModelHash
	if a := f.Card.Adapted; a != nil {
		want.Adapted = &Adaptation{Way: a.Way, Lambda: a.Lambda, Hash: a.Hash, Odds: a.Odds, Privacy: Private}
		said = a.Hash
	}
	want.seal()
	if a, b := want.encode(), f.Card.encode(); !bytes.Equal(a, b) {
		return fmt.Errorf("%w: the card says other than its proof: %s", proof.ErrNotProven, difference(want, f.Card))
	}
	if d := f.Card.Model.Dim(); len(f.Parameters) != d {
		return fmt.Errorf("%w: the file has %d parameters, the chain's model %d", proof.ErrNotProven, len(f.Parameters), d)
	}
	if hash := app.ModelHash(f.Parameters); hex.EncodeToString(hash[:]) != said {
		return fmt.Errorf("%w: the parameters have hash %x, those after epoch %d round %d have %s", proof.ErrNotProven, hash,
			f.Card.Epoch, f.Card.Round, said)
	}
	return nil
}

func (c *Card) encode() []byte {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // JSON encodes texts and finite numbers without error
	}
	return data
}

func (c *Card) seal() {
	c.Digest = ""
	sum := sha256.Sum256(c.encode())
	c.Digest = hex.EncodeToString(sum[:])
}

// decodeCard decodes a card's JSON. It rejects all bytes that encode would not write.
func decodeCard(data []byte) (c Card, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, fmt.Errorf("%w: card: %w", ErrFile, err)
	}
	if !bytes.Equal(c.encode(), data) {
		return c, fmt.Errorf("%w: the card is not in the form in which it was written", ErrFile)
	}
	return c, nil
}

// difference lists every field of got, except proof and digest, whose value differs from want's.
func difference(want, got Card) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(want.encode(), &a) != nil || json.Unmarshal(got.encode(), &b) != nil {
		return ""
	}
	var names []string
	for name, v := range b {
		if !bytes.Equal(a[name], v) && name != "proof" && name != "digest" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s is %.80s, proven is %.80s", name, b[name], a[name])
	}
	return fmt.Sprint(names)
}

// CardReport is a file's card without the proof, which is long and in the file.
type CardReport struct {
	Card
	Proof *Bundle `json:"proof,omitempty"` // shadows the card's, and is nil
}

// Text prints the card.
func (c *Card) Text(w io.Writer) {
	epsilon, accuracy := "NO DP GUARANTEE", "not in the file; `spdl model eval` measures it"
	if c.Epsilon != nil {
		epsilon = fmt.Sprintf("%s at delta %g, the largest of a participant in all rounds up to height %d",
			accountant.Text(*c.Epsilon), c.Delta, c.Height)
	}
	if c.Unit == params.UnitGroup {
		epsilon += "; " + caveat.Groups
	}
	if c.Lemma1Epsilon != 0 {
		epsilon += "; " + caveat.Lemma1(c.Lemma1Epsilon)
	}
	if c.TestChain {
		epsilon += "; " + caveat.TestChain
	}
	if c.Adapted != nil {
		epsilon = "NO DP GUARANTEE: " + printable.Text(c.Adapted.Privacy)
	}
	if c.Accuracy != nil {
		accuracy = fmt.Sprintf("%.4f on %s (the exporter's word, not proven)", *c.Accuracy, printable.Text(c.Tested))
	}
	if c.Model.Clipping == params.ClippingSum {
		epsilon += "; " + caveat.TrainerClips
	}
	fmt.Fprintf(w, "model         %s, %d parameters, hash %s\nround         %d of epoch %d, %d planned, "+
		"closed at height %d by %d gradients\npreset        %s\nrule          %s\nparticipants  %d at height %d, %d "+
		"Byzantine at most\nepsilon       %s\naccuracy      %s\nproof         header %d of %s, app hash %s\n",
		printable.Text(c.Model.Kind)+featuresText(c.Model.Features), c.Model.Dim(), c.ModelHash, c.Round, c.Epoch, c.Rounds,
		c.Closed, c.Included, printable.Text(c.Preset), printable.Text(c.Rule),
		c.Participants, c.Height, c.Byzantine, epsilon, accuracy, c.Height, printable.Text(c.ChainID), c.AppHash)
	if a := c.Adapted; a != nil {
		fmt.Fprintf(w, "adapted       %s, lambda %g, hash %s: the proof is that of the model from which it began\n",
			printable.Text(a.Way), a.Lambda, printable.Text(a.Hash))
	}
	if c.ExporterTrainer != "" {
		fmt.Fprintf(w, "trainer       the exporting node's own is %s (its own word; other participants' are not "+
			"known)\n", printable.Text(c.ExporterTrainer))
	}
}

// featuresText returns the name and hash of a model's feature map as text, "" for pixels.
func featuresText(f params.Features) string {
	if f.Name == params.FeaturesPixels {
		return ""
	}
	return fmt.Sprintf(" on %s (hash %s)", printable.Text(f.Name), printable.Text(f.Hash))
}
