package folds

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/internal/printable"
)

// Line says what a site gains at an epsilon. Scores are means over the repeats.
type Line struct {
	Site    string  `json:"site"` // its name, or All
	Epsilon float64 `json:"epsilon"`
	Rows    int     `json:"rows"`
	Events  int     `json:"events"` // rows of the second class
	Alone   Score   `json:"alone"`
	Common  Score   `json:"common"`
	Adapted Score   `json:"adapted"`
	Pooled  Score   `json:"pooled"`
	ByRate  Score   `json:"by_rate"`
	// Gain is the Brier score of Adapted minus that of Alone, and OverRate minus that of ByRate: below 0 is better.
	// Ceiling is that of Pooled minus that of Alone. They are means over the repeats, and the intervals are of draws of
	// units and of repeats. Better counts the repeats in which Adapted is better than Alone.
	Gain     adapt.Interval `json:"gain"`
	OverRate adapt.Interval `json:"over_rate"`
	Ceiling  adapt.Interval `json:"ceiling"`
	Better   int            `json:"better"`
	Repeats  int            `json:"repeats"`
	Verdict  string         `json:"verdict"`
	Error    string         `json:"error,omitempty"` // why the site has no scores
}

// Score measures the chances of a model.
type Score struct {
	Brier float64 `json:"brier"`
	AUC   float64 `json:"auc"`
}

// The verdicts of a line, and the site of a line of all that are measured.
const (
	All   = "all sites"
	Gains = "gains"
	Same  = "no difference shown"
	Loses = "loses"
)

// lines measures the sites.
func (r *run) lines() (out []Line) {
	for e, p := range r.Params {
		var measured []int
		for site, rows := range r.sites {
			if r.errs[site] != nil {
				out = append(out, Line{Site: r.Names[site], Epsilon: p.Privacy.Epsilon, Rows: len(rows),
					Error: r.errs[site].Error()})
				continue
			}
			measured = append(measured, rows...)
			out = append(out, r.line(e, r.Names[site], rows))
		}
		if len(measured) > 0 {
			out = append(out, r.line(e, All, measured))
		}
	}
	return out
}

// line measures some rows.
func (r *run) line(e int, site string, rows []int) Line {
	l := Line{Site: site, Epsilon: r.Params[e].Privacy.Epsilon, Rows: len(rows), Repeats: r.Repeats}
	labels, ones := make([]uint8, len(rows)), make([]float64, len(rows))
	for i, row := range rows {
		labels[i], ones[i] = r.whole.Labels[row], 1
		l.Events += int(labels[i])
	}
	for _, chances := range r.chances[e] {
		var briers [models]float64
		for m, to := range [models]*Score{&l.Alone, &l.Common, &l.Adapted, &l.Pooled, &l.ByRate} {
			some := make([]float64, len(rows))
			for i, row := range rows {
				some[i] = chances[m][row]
			}
			q := evaluate.Score(some, labels).Measure(ones, 0.5)
			to.Brier, to.AUC, briers[m] = to.Brier+q.Brier/float64(r.Repeats), to.AUC+q.AUC/float64(r.Repeats), q.Brier
		}
		if briers[Adapted] < briers[Alone] {
			l.Better++
		}
	}
	l.Gain = r.between(e, rows, Adapted, Alone, l.Adapted.Brier-l.Alone.Brier)
	l.OverRate = r.between(e, rows, Adapted, ByRate, l.Adapted.Brier-l.ByRate.Brier)
	l.Ceiling = r.between(e, rows, Pooled, Alone, l.Pooled.Brier-l.Alone.Brier)
	switch small := math.Abs(l.Gain.Value) < adapt.None(l.Alone.Brier); {
	case !small && l.Gain.High < 0 && l.OverRate.High < 0:
		l.Verdict = Gains
	case !small && l.Gain.Low > 0:
		l.Verdict = Loses
	default:
		l.Verdict = Same
	}
	return l
}

// between returns the difference of the Brier scores of two models on some rows, with its interval.
func (r *run) between(e int, rows []int, one, other int, value float64) adapt.Interval {
	in := map[int]bool{}
	for _, row := range rows {
		in[row] = true
	}
	var sizes []float64
	sums := make([][]float64, r.Repeats) // of the differences of a unit's rows
	for _, unit := range r.units {
		if !in[unit[0]] {
			continue
		}
		sizes = append(sizes, float64(len(unit)))
		for repeat, chances := range r.chances[e] {
			sum := 0.
			for _, row := range unit {
				y := float64(r.whole.Labels[row])
				p, q := chances[one][row]-y, chances[other][row]-y
				sum += p*p - q*q
			}
			sums[repeat] = append(sums[repeat], sum)
		}
	}
	const draws, tail = 2000, 50 // the 40th part is beyond each end
	all, rng := make([]float64, draws), rand.New(rand.NewPCG(r.Seed, 1))
	for d := range all {
		size, counts := 0., make([]float64, len(sizes))
		for range sizes {
			u := rng.IntN(len(sizes))
			size, counts[u] = size+sizes[u], counts[u]+1
		}
		for range r.Repeats {
			all[d] += floats.Dot(counts, sums[rng.IntN(r.Repeats)]) / size / float64(r.Repeats)
		}
	}
	slices.Sort(all)
	return adapt.Interval{Value: value, Low: all[tail], High: all[draws-1-tail]}
}

// Head names the columns of Cells, and About says what they are.
var Head = []string{"site", "epsilon", "rows", "events", "rate", "alone", "common", "adapted", "pooled",
	"adapted - alone", "better in", "verdict"}

// About says what Cells holds.
const About = "Brier score (less is better) and AUC of rows that the models did not train on, means over draws of " +
	"folds and noise. Rate guesses the rate; pooled has all rows in one place, and no privacy. Adapted - alone: Brier " +
	"scores, with a 95 % interval over rows and draws. Private to the owners of the rows: no epsilon bounds what this " +
	"tells of them"

// Cells returns a row for each line.
func Cells(lines []Line) (rows [][]string) {
	for _, l := range lines {
		row := []string{printable.Line(l.Site), fmt.Sprint(l.Epsilon), fmt.Sprint(l.Rows)}
		if l.Error != "" {
			rows = append(rows, append(row, "not measured: "+l.Error))
			continue
		}
		row = append(row, fmt.Sprint(l.Events), fmt.Sprintf("%.4f", l.ByRate.Brier))
		for _, s := range []Score{l.Alone, l.Common, l.Adapted, l.Pooled} {
			row = append(row, fmt.Sprintf("%.4f %.3f", s.Brier, s.AUC))
		}
		rows = append(rows, append(row, l.Gain.Text(4), fmt.Sprintf("%d of %d", l.Better, l.Repeats), l.Verdict))
	}
	return rows
}

// Says returns a sentence for each site, of its lines at all epsilons, which claims no more than their intervals.
func Says(lines []Line) (list []string) {
	for i, l := range lines {
		if l.Site != All && !slices.ContainsFunc(lines[:i], func(x Line) bool { return x.Site == l.Site }) {
			own := slices.DeleteFunc(slices.Clone(lines), func(x Line) bool { return x.Site != l.Site })
			list = append(list, printable.Line(l.Site)+": "+say(own))
		}
	}
	return list
}

// say returns the sentence of one site.
func say(lines []Line) (text string) {
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(a.Epsilon, b.Epsilon) })
	// The epsilons of each verdict; the last line that shows no difference, and the least end of such intervals.
	at, same, low := map[string][]string{}, Line{}, 0.
	for _, l := range lines {
		if at[l.Verdict] = append(at[l.Verdict], fmt.Sprint(l.Epsilon)); l.Verdict == Same {
			same, low = l, min(low, l.Gain.Low)
		}
	}
	gains, most := at[Gains], lines[len(lines)-1]
	switch {
	case most.Error != "":
		return "not measured: " + most.Error
	case len(gains) > 1 && fmt.Sprint(lines[len(lines)-len(gains)].Epsilon) == gains[0]:
		text = fmt.Sprintf("gains from epsilon %s on, up to %g, the largest tried", gains[0], most.Epsilon)
	case gains != nil:
		text = "gains at epsilon " + strings.Join(gains, ", ")
	case at[Same] != nil:
		text = same.why(" at epsilon "+strings.Join(at[Same], ", ")+": ", low)
	}
	if loses := at[Loses]; loses != nil {
		text = strings.TrimPrefix(text+"; loses at epsilon "+strings.Join(loses, ", "), "; ")
	}
	if rare := min(most.Events, most.Rows-most.Events); rare < leastRare {
		text += fmt.Sprintf("; its rarer class has %d rows, and of fewer than %d no interval is to be trusted", rare,
			leastRare)
	}
	return text + adapt.Doubt(most.Alone.AUC)
}

// leastRare is the number of rows of a class below which a site's sentence says that they are few.
const leastRare = 10

// why says why a line shows no gain. A ceiling whose interval has no width is not known. low is the least end of the
// intervals of all lines that show none.
func (l Line) why(at string, low float64) string {
	none, shown := adapt.None(l.Alone.Brier), "no gain shown"+at
	pooled := fmt.Sprintf("even all rows in one place give %.4f, its own model %.4f", l.Pooled.Brier, l.Alone.Brier)
	switch {
	case min(l.Ceiling.Low, low) > -none && l.Ceiling.Low < l.Ceiling.High:
		return "nothing to gain" + at + pooled
	case low > -none && l.Ceiling.High < -none:
		return shown + fmt.Sprintf("its interval excludes a gain of a hundredth of its own model's score; all rows in "+
			"one place give %.4f, its own model %.4f", l.Pooled.Brier, l.Alone.Brier)
	case low > -none:
		return shown + "its interval excludes a gain of a hundredth of its own model's score"
	case l.Gain.High < 0:
		return fmt.Sprintf("%sbetter than its own model by too little, or not shown better than the rate: %.4f, alone "+
			"%.4f, by the rate %.4f", shown, l.Adapted.Brier, l.Alone.Brier, l.ByRate.Brier)
	case l.Ceiling.Value > -none && l.Ceiling.Low < l.Ceiling.High:
		return shown + pooled + ", a difference of " + l.Ceiling.Text(4)
	}
	shown += fmt.Sprintf("better in %d of %d draws at epsilon %g, and ", l.Better, l.Repeats, l.Epsilon)
	if 2*l.Better > l.Repeats {
		return shown + fmt.Sprintf("%d rows cannot show it", l.Rows)
	}
	return shown + "the interval includes 0"
}
