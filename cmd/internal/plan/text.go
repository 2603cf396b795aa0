package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/printable"
)

// Text prints a plan: what a privacy officer asks first, and the mechanism below it.
func (p Plan) Text(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }

	unit := p.unit()
	row("protected", "%s, of the %d of each participant: %s", unit, p.Samples, p.Neighbours)
	if p.Unit == "example" {
		row("", "a patient with several rows or images is protected by a group alone, as --group patient_id names")
	}
	row("epsilon", "%.4g: an attacker who sees all that is public, knows all data but %s, and bets whether it is in "+
		"them, is right at most %s times; a coin 50 times", up(guaranteedEpsilon(p)), unit, hundreds(p.Bet))
	row("noise", "%.3g of the largest contribution, in the mean of all rounds: the verdict judges this noise; %.3g in a "+
		"single round, where attackers can hide", p.MeanNoise, p.NoiseToGradient)
	row("rounds", "%d; epsilon is that of all together", p.Rounds)
	row("public", "of each round all vectors and the model; in genesis:")
	for _, line := range p.Public {
		row("", "%s", printable.Line(line))
	}
	_ = t.Flush()
	if f := p.Accuracy.Table; f != nil {
		p.choicesText(w, *f)
	}
	fmt.Fprintf(w, "\nverdict: %s\n\n", p.Verdict)
	row("consortium", "N = %d participants, f = %d Byzantine", p.Participants, p.Byzantine)
	row("rule", "%s, %s", p.Rule.Name, map[bool]string{true: "its condition holds",
		false: "OUTSIDE its theorem"}[p.Rule.Holds])
	row("model", "%s, %d parameters", p.Model, p.Parameters)
	row("training", "%d rounds, %d %s a participant, sampling rate %.4g (batch %d), clip %v, worker momentum %v",
		p.Rounds, p.Samples, p.Units, p.SamplingRate, p.Batch, p.Clip, p.Momentum)
	for _, site := range p.Sites {
		row("a site of", "%s", site)
	}
	if p.Guarantee {
		row("privacy", "epsilon %.4g at delta %v by %s: a conclusion is at most %.4g times as probable with the %s as "+
			"without, plus delta", up(p.Epsilon), p.Delta, p.Accountant, up(math.Exp(p.Epsilon)), unit)
	} else {
		row("privacy", "NO GUARANTEE: lemma1 calls it epsilon %.4g at delta %v; by RDP it is %.4g", p.Epsilon, p.Delta,
			p.RDPEpsilon)
	}
	if p.Mu != nil {
		row("mu", "%.4g of Gaussian differential privacy, exact: all rounds together are one Gaussian", up(*p.Mu))
	} else {
		row("mu", "none: rounds sample, so together they are no Gaussian; a central limit theorem's would say less than is "+
			"spent")
	}
	row("chain's ledger", "epsilon %.4g after all rounds%s", up(p.Ledger.Epsilon), p.Ledger.text())
	row("noise", "multiplier %.4g, sigma %.4g on the sum, %.3g on a submitted coordinate", up(p.NoiseMultiplier),
		up(p.SumStd), p.SubmittedStd)
	row("", "f attackers that hide in it displace the model by about %.2g of the farthest that a training can move it",
		p.HiddenPush)
	if c := p.Lemma1; c != nil && !p.Guarantee {
		row("Lemma 1 (paper)", "multiplier %.4g for a claim of %.4g: by RDP epsilon %.3g, %.3g if batches are not secret",
			c.NoiseMultiplier, c.ClaimedEpsilon, c.RDPEpsilon, c.RDPEpsilonQ1)
		row("", "without its learning rate %v, which has no place in it, %.4g: %.3g times the noise of RDP", c.LearningRate,
			c.WithoutRate, c.TimesRDP)
	}
	if p.Accuracy.Table == nil {
		row("accuracy", "%s", p.Accuracy.text())
	}
	row("bytes", "%s a gradient, %s a round, %s in all; %s of blocks a day if rounds went on", formatSize(
		p.Traffic.Gradient), formatSize(p.Traffic.Round), formatSize(p.Traffic.Total), formatSize(p.Traffic.Day))
	row("time", "%v for all rounds, of %v each", roundDuration(p.Traffic.Duration), roundDuration(p.Traffic.Seconds))
	if r := p.Round; r != nil {
		row("round", "%v: step %v, gradients' way %v, block's way %v, votes %v, node's CPU %v; the longest is the %s",
			roundDuration(r.Seconds), roundDuration(r.Step), roundDuration(r.Gradients), roundDuration(r.Block),
			roundDuration(r.Votes), roundDuration(r.Node), r.BoundBy)
		row("a node", "receives and sends %s each a round", formatSize(r.NodeBytes))
	}
	_ = t.Flush()
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "\nwarning: %s\n", warning)
	}
}

// choicesText prints what a table's model keeps at several epsilons.
func (p Plan) choicesText(w io.Writer, f TableForecast) {
	fmt.Fprintf(w, "\nGuessing the typical rate %.3g has accuracy %.3f and Brier score %.3f. ", f.Rate, f.Guess, f.Brier)
	if p.Rounds < p.Full {
		fmt.Fprintf(w, "What %d rounds keep of the gain over it was not measured.\n", p.Rounds)
		return
	}
	fmt.Fprint(w, "Of what logistic regression on all rows\nwithout privacy gains over it, each table of docs/TABLES.md "+
		"kept at least, with 4 and with 10 members (a harder one\nmay keep less; more members with as many rows each keep "+
		"as much or more):\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	attacked := func(*Gain) string { return "" }
	if p.Byzantine > 0 {
		attacked = func(g *Gain) string { return "\t" + g.cells() }
	}
	fmt.Fprintln(t, "  epsilon\tattacker is right\tnoise of all rounds\tof the AUC\tof the Brier score"+
		map[bool]string{true: fmt.Sprintf("\twhere %d attack: AUC\tBrier score", p.Byzantine)}[p.Byzantine > 0])
	for _, c := range p.Choices {
		fmt.Fprintf(t, "  %v\t%s times\t%.3g\t%s%s\n", c.Epsilon, hundreds(c.Bet), c.Noise, c.Kept.cells(),
			attacked(c.Attacked))
	}
	_ = t.Flush()
}

// Public lists what parameters tell of data and training, by the keys of their JSON, a line for each part. The
// ledger's columns follow from the rest.
func Public(p params.Params) (lines []string, err error) {
	p.Privacy.Cost, p.Privacy.Budget = nil, nil
	table := p.Model.Table
	p.Model.Table = nil
	text, err := json.Marshal(map[string]any{"model": p.Model, "table": table, "privacy": p.Privacy,
		"training": p.Training})
	var parts map[string]any
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if parts[name] != nil {
			lines = append(lines, name+": "+strings.Trim(told(parts[name]), "()"))
		}
	}
	return lines, err
}

// told returns a value of JSON: objects by their keys, lists by their length and the keys of their elements.
func told(value any) string {
	switch value := value.(type) {
	case float64:
		return fmt.Sprintf("%.6g", value)
	case map[string]any:
		var all []string
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = append(all, key+" "+told(value[key]))
		}
		return "(" + strings.Join(all, ", ") + ")"
	case []any:
		keys := map[string]any{}
		for _, element := range value {
			object, _ := element.(map[string]any) // texts have no keys
			maps.Copy(keys, object)
		}
		return strings.TrimSpace(fmt.Sprint(len(value), " ", strings.Join(slices.Sorted(maps.Keys(keys)), "/")))
	}
	return fmt.Sprint(value)
}

// unit names what epsilon protects.
func (p Plan) unit() string {
	if column, of := strings.CutPrefix(p.Unit, "group:"); of {
		return fmt.Sprintf("one %.40s with all its rows", printable.Line(column))
	}
	if p.Accuracy.Table != nil {
		return "one row"
	}
	return "one " + strings.TrimSuffix(p.Units, "s")
}

// hundreds formats a chance as a number of 100, rounded up.
func hundreds(chance float64) string { return fmt.Sprintf("%.1f of 100", math.Ceil(1000*chance)/10) }

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
	case !a.Measured:
		return a.Source
	case a.Attacked == nil:
		return fmt.Sprintf("%.3f without attack; under attack not measured at these settings", *a.Clean)
	}
	return fmt.Sprintf("%.3f without attack, %.3f under the worst attack tried (%.3f with commitments, as in the preset "+
		"default)", *a.Clean, *a.Attacked, *a.Committed)
}

// formatSize formats a number of bytes with three digits, in decimal units.
func formatSize(bytes int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	x, i := float64(bytes), 0
	for x >= 1000 && i < len(units)-1 {
		x, i = x/1000, i+1
	}
	return fmt.Sprintf("%.3g %s", x, units[i])
}
