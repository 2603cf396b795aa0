package plan

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spdl/spdl/internal/printable"
)

// Text prints a plan.
func (p Plan) Text(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }

	row("consortium", "N = %d participants, f = %d Byzantine", p.Participants, p.Byzantine)
	row("rule", "%s, %s", p.Rule.Name, map[bool]string{true: "its condition holds",
		false: "OUTSIDE its theorem"}[p.Rule.Holds])
	row("model", "%s, %d parameters", p.Model, p.Parameters)
	row("training", "%d rounds, %d %s a participant, sampling rate %.4g (batch %d), clip %v, worker momentum %v",
		p.Rounds, p.Samples, p.Units, p.SamplingRate, p.Batch, p.Clip, p.Momentum)
	if p.Guarantee {
		row("privacy", "epsilon %.4g at delta %v by %s", up(p.Epsilon), p.Delta, p.Accountant)
	} else {
		row("privacy", "NO GUARANTEE: lemma1 calls it epsilon %.4g at delta %v; by RDP it is %.4g", p.Epsilon, p.Delta,
			p.RDPEpsilon)
	}
	if p.Neighbours != "" {
		row("unit", "%.40s: %s", printable.Line(p.Unit), p.Neighbours)
		if p.Unit == "example" {
			row("", "an example is an image, or a row of a table: of a patient with several rows all are protected by a group")
		}
		row("", "what anybody concludes of all that is public is at most %.4g times as probable with the one as with the "+
			"other, plus delta", up(math.Exp(guaranteedEpsilon(p))))
	}
	row("noise", "multiplier %.4g, sigma %.4g on the sum, %.3g on a submitted coordinate", up(p.NoiseMultiplier),
		up(p.SumStd), p.SubmittedStd)
	of := "a round's vector"
	if p.Momentum == 1 {
		of = "the mean of all rounds, as vectors are sums"
	}
	row("noise to gradient", "%.3g of the clip norm, in %s; f attackers that hide in it displace the model by about %.2g "+
		"of the farthest that a training can move it", p.NoiseToGradient, of, p.HiddenPush)
	row("chain's ledger", "epsilon %.4g after all rounds%s", up(p.Ledger.Epsilon), p.Ledger.text())
	if c := p.Lemma1; c != nil && !p.Guarantee {
		row("Lemma 1 (paper)", "multiplier %.4g for a claim of %.4g: by RDP epsilon %.3g, %.3g if batches are not secret",
			c.NoiseMultiplier, c.ClaimedEpsilon, c.RDPEpsilon, c.RDPEpsilonQ1)
		row("", "without its learning rate %v, which has no place in it, %.4g: %.3g times the noise of RDP", c.LearningRate,
			c.WithoutRate, c.TimesRDP)
	}
	row("accuracy", "%s", p.Accuracy.text())
	row("bytes", "%s a gradient, %s a round, %s in all", formatSize(p.Traffic.Gradient), formatSize(p.Traffic.Round),
		formatSize(p.Traffic.Total))
	row("", "%v for all, at a round in %v; %s of blocks a day if rounds went on", roundDuration(p.Traffic.Duration),
		roundDuration(p.Traffic.Seconds), formatSize(p.Traffic.Day))
	if r := p.Round; r != nil {
		row("round", "%v: step %v, gradients' way %v, block's way %v, votes %v, node's CPU %v; the longest is the %s",
			roundDuration(r.Seconds), roundDuration(r.Step), roundDuration(r.Gradients), roundDuration(r.Block),
			roundDuration(r.Votes), roundDuration(r.Node), r.BoundBy)
		row("a node", "receives and sends %s each a round", formatSize(r.NodeBytes))
	}
	if c := p.Config; c.BlockBytes > 0 {
		row("genesis", "block.max_bytes %d of at most %d, mempool.max_tx_bytes %d, proposal.wait %v, timeout_propose %v "+
			"follow from it",
			c.BlockBytes, c.MostBytes, c.TxBytes, roundDuration(c.Wait.Seconds()), roundDuration(c.Propose.Seconds()))
	}
	if p.Accuracy.Measured || p.Accuracy.Table != nil {
		row("source", "%s", p.Accuracy.Source)
	}
	_ = t.Flush()
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "\nwarning: %s\n", warning)
	}
}

// up returns x with four digits, rounded up: no multiplier that is copied and no epsilon that is claimed is too small.
func up(x float64) float64 {
	scale := math.Pow(10, 3-math.Floor(math.Log10(x)))
	return math.Ceil(x*scale*(1-1e-12)) / scale // 1e-12 for what the product was rounded up
}

func (l Ledger) text() string {
	if l.Rounds == nil {
		return ""
	}
	return fmt.Sprintf("; a budget of the target pays for %d rounds", *l.Rounds)
}

func (a Accuracy) text() string {
	switch {
	case a.Table != nil:
		return a.Table.text()
	case !a.Measured:
		return a.Source
	case a.Attacked == nil:
		return a.Clean.text() + " without attack; under attack not measured at these settings"
	}
	text := fmt.Sprintf("%s without attack, %s under the worst attack tried", a.Clean.text(), a.Attacked.text())
	if a.Committed != nil {
		text += fmt.Sprintf(" (%s with commitments, as in the preset default)", a.Committed.text())
	}
	return text
}

func (b Band) text() string {
	if b.Low == b.High {
		return fmt.Sprintf("%.3f", b.Low)
	}
	return fmt.Sprintf("%.3f to %.3f", b.Low, b.High)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// formatSize formats a number of bytes with three digits, in decimal units.
func formatSize(bytes int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	x, i := float64(bytes), 0
	for x >= 1000 && i < len(units)-1 {
		x, i = x/1000, i+1
	}
	return fmt.Sprintf("%.3g %s", x, units[i])
}
