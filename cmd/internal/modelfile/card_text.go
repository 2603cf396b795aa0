package modelfile

import (
	"fmt"
	"io"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/caveat"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/privacy/accountant"
)

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
