package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// The kinds of a drafted column.
const (
	KindNumber, KindCategory = "number", "category"
	KindLabel, KindGroup     = "label", "group"
	KindLeftOut              = "left out"
)

const (
	// maxCategories is the max number of a column's categories, and leastRows the min number of rows of each: the
	// names of categories become public, and one that few rows have tells of these rows.
	maxCategories, leastRows = 32, 5
	// reach is how far from the mean bounds lie at most, in standard deviations.
	reach = 4
	// coarse is the step of what is typical: a part of a number's bounds, a share, a rate.
	coarse = 0.05
)

// Draft is a schema that a file suggests, with a reason for each column. It tells of the file's rows as
// little as a schema can, but all of it becomes public when members agree on it.
type Draft struct {
	Schema  params.Table `json:"schema"`
	Rows    int          `json:"rows"`
	Units   int          `json:"units"` // groups, or rows without groups
	Columns []Drafted    `json:"columns"`
	Notes   []string     `json:"notes,omitempty"`
}

// Drafted says what became of a column.
type Drafted struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`
	Missing float64 `json:"missing"`           // share of the rows
	Covered float64 `json:"covered"`           // share of the rows whose value the schema holds as it is
	Spoiled int     `json:"spoiled,omitempty"` // rows whose text is no number, where most are numbers
	Public  string  `json:"public,omitempty"`  // what of it becomes public, besides its name
	Note    string  `json:"note,omitempty"`
}

// DraftSchema drafts one schema from all rows of files of any size, each of which is read once. Columns in without
// become no inputs. The error has all that is wrong with the files, and with the labels and the groups.
func DraftSchema(paths []string, label, group string, without ...string) (d Draft, err error) {
	d.Schema = params.Table{Label: label, Group: group}
	var all []*profile
	for _, path := range paths {
		rows, units, wrong := addFile(&all, path, label, group)
		d.Rows, d.Units, err = d.Rows+rows, d.Units+units, errors.Join(err, wrong)
	}
	if err != nil {
		return d, err
	}
	of := func(name string) int { return slices.IndexFunc(all, func(p *profile) bool { return p.name == name }) }
	names := strings.Join(all[of(label)].files, " and ")
	for _, name := range without {
		if of(name) < 0 {
			return d, fmt.Errorf("%w: no column %q in %s", ErrTable, name, names)
		}
	}
	if err = d.addLabel(names, all[of(label)]); err != nil {
		return d, err
	}
	var some []string // columns that not all files have
	for _, p := range all {
		left := slices.Contains(without, p.name)
		if len(p.files) < len(paths) && !left {
			some = append(some, fmt.Sprintf("%s (%s)", p.name, strings.Join(p.files, ", ")))
		}
		if p.name != label {
			d.add(p, all[of(label)], len(paths), left)
		}
	}
	if len(some) > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("not all files have the columns %s: they are no inputs, and what a site's own "+
			"model would gain by them is not measured", strings.Join(some, ", ")))
	}
	if len(d.Schema.Columns) == 0 {
		return d, fmt.Errorf("%w: no column of %s can be an input: %s", ErrTable, names, d.reasons())
	}
	return d, nil
}

// add adds a column that is not the label's.
func (d *Draft) add(p, label *profile, files int, without bool) {
	drafted, column := p.draft(d.Rows, files)
	switch group := d.Schema.Group; {
	case p.name == group:
		drafted = Drafted{Name: group, Kind: KindGroup, Covered: 1,
			Note: fmt.Sprintf("%d groups: epsilon protects all rows of one", d.Units)}
	case without:
		drafted = Drafted{Name: p.name, Kind: KindLeftOut, Missing: drafted.Missing, Note: "as asked"}
	case drafted.Spoiled > 0:
		d.Notes = append(d.Notes, fmt.Sprintf("column %q is no input: %s", p.name, drafted.Note))
	case column != nil:
		d.Schema.Columns = append(d.Schema.Columns, *column)
		if leak := p.leak(label, d.Rows); leak != "" {
			d.Notes = append(d.Notes, fmt.Sprintf("column %q: %s: is it known only once the label is? --without %[1]q "+
				"leaves it out", p.name, leak))
		}
	case group == "" && p.repeats && idName.MatchString(p.name):
		d.Notes = append(d.Notes, fmt.Sprintf("%q repeats: with --group %[1]q epsilon protects all rows of one, and "+
			"not one row", p.name))
	}
	d.Columns = append(d.Columns, drafted)
	if p.commas {
		d.Notes = append(d.Notes, fmt.Sprintf("column %q: commas in numbers are read as points, 1,5 as 1.5", p.name))
	}
}

// reasons lists the columns that are left out.
func (d Draft) reasons() string {
	var list []string
	for _, c := range d.Columns {
		if c.Kind == KindLeftOut {
			list = append(list, fmt.Sprintf("%q: %s", c.Name, c.Note))
		}
	}
	return strings.Join(list, "; ")
}

// addLabel sets the classes and their rate. The rarer of two classes is the second, the positive one, if
// they differ much.
func (d *Draft) addLabel(of string, p *profile) error {
	classes := slices.Sorted(maps.Keys(p.texts))
	switch {
	case p.many:
		return fmt.Errorf("%w: column %q of %s has more than %d different labels: is it a number? Make classes of it, "+
			"as low and high", ErrTable, p.name, of, maxTexts)
	case len(classes) < 2:
		return fmt.Errorf("%w: %s has the labels %q in column %q, want at least two different ones", ErrTable, of,
			classes, p.name)
	}
	for _, class := range classes {
		if err := params.CheckName("label", class); err != nil {
			return fmt.Errorf("%w: %s, column %q: %w, as ue for ü", ErrTable, of, p.name, err)
		}
	}
	d.Notes = append(d.Notes, Doubts(classes, p.texts)...)
	public := strings.Join(classes, ", ")
	if len(classes) == 2 {
		if float64(p.texts[classes[0]])/float64(d.Rows) < 0.5-coarse {
			slices.Reverse(classes)
		}
		d.Schema.Rate = roundRate(float64(p.texts[classes[1]]) / float64(d.Rows))
		public = fmt.Sprintf("%s; rate of %s %g", strings.Join(classes, ", "), classes[1], d.Schema.Rate)
	}
	d.Schema.Classes = classes
	d.Columns = append(d.Columns, Drafted{Name: p.name, Kind: KindLabel, Covered: 1, Public: public})
	return nil
}

// draft returns what becomes of a column, and its description, nil if it is left out.
func (p *profile) draft(rows, files int) (d Drafted, c *params.Column) {
	present := rows - p.missing
	d = Drafted{Name: p.name, Kind: KindLeftOut, Missing: float64(p.missing) / float64(max(1, rows))}
	switch d.Note = p.unfit(present, d.Missing); {
	case len(p.files) < files:
		d.Note = "no column of all files, but of " + strings.Join(p.files, ", ")
	case d.Note != "":
	case p.numbers == present && len(p.texts) != 2:
		d.Kind, c = KindNumber, p.number(&d)
	case p.numbers+p.quoted == present && p.quoted > 0:
		d.Note = "commas within numbers, as 1,5 or 1,500, between commas: write points, or none for thousands"
	case len(p.texts) <= maxCategories:
		if c = p.category(&d, rows); c != nil {
			d.Kind = KindCategory
		}
	case 2*p.numbers >= present:
		d.Spoiled = present - p.numbers
		d.Note = fmt.Sprintf("%d rows have no number, the first in %s: correct them", d.Spoiled, p.firstBad)
	default:
		d.Note = fmt.Sprintf("an id or free text: more than %d different texts", maxCategories)
	}
	return d, c
}

// unfit returns why a column is no input, whatever its bounds or values, and "" if it may be one.
func (p *profile) unfit(present int, missing float64) string {
	const mostMissing = 0.95
	numbers := p.numbers == present
	switch {
	case params.CheckName("name", p.name) != nil:
		return "its name is not 1 to 128 bytes of printable ASCII: rename it"
	case missing > mostMissing:
		return fmt.Sprintf("missing in %.0f %% of the rows", 100*missing)
	case len(p.texts) == 1 || numbers && p.low == p.high:
		return "the same in every row that has it: it tells nothing"
	case p.numeric != "" && p.worded != "":
		return fmt.Sprintf("numbers in %s and texts in %s: write one as the other", p.numeric, p.worded)
	case p.dates == present:
		return "dates: make numbers of them, as years or days since an event"
	case numbers && p.counting && p.numbers > maxTexts:
		return "it counts the rows"
	case p.many && p.whole && idName.MatchString(p.name):
		return "an id, by its name"
	case numbers && math.IsInf(p.high-p.low, 0):
		return "its numbers are too far apart"
	}
	return ""
}

// number returns the description of a column of numbers. Its bounds are within reach of the mean and round outward, on
// a grid of 1, 2 or 5 times a power of ten with some ten steps between them.
func (p *profile) number(d *Drafted) *params.Column {
	const few = 10 // numbers that differ: a code or an answer, none of which is cut
	far := reach * math.Sqrt(p.squares/float64(p.numbers))
	if len(p.texts) <= few {
		far = math.Inf(1)
	}
	low, high := max(p.low, p.mean-far), min(p.high, p.mean+far)
	step := gridStep((high - low) / 10)
	low, high = decimal(math.Floor(low/step)*step), decimal(math.Ceil(high/step)*step)
	c := &params.Column{Name: p.name, Low: low, High: high}
	width := c.High - c.Low
	typical := math.Round((p.mean-c.Low)/(coarse*width))*(coarse*width) + c.Low
	typical = min(max(decimal(typical), c.Low), c.High)
	d.Public = fmt.Sprintf("%g to %g, typical %g", c.Low, c.High, typical)
	if c.Typical = &typical; p.missing > 0 {
		const leastShare = 0.01 // of an indicator
		c.Missing = &params.Missing{Fill: typical, Indicator: d.Missing >= leastShare}
		if c.Missing.Indicator {
			c.Missing.Share = roundShare(d.Missing)
			d.Public += fmt.Sprintf(", missing %g", c.Missing.Share)
		}
	}
	var notes []string
	if p.low < c.Low || p.high > c.High {
		notes = append(notes, "some values are beyond the bounds")
	}
	if at := (typical - c.Low) / width; len(p.texts) > few && (at <= 2*coarse || at >= 1-2*coarse) {
		notes = append(notes, "most are near one end: take the logarithm")
	}
	d.Note = strings.Join(notes, "; ")
	return c
}

// category returns the description of a column of categories, nil if too few have enough rows.
func (p *profile) category(d *Drafted, rows int) *params.Column {
	c := &params.Column{Name: p.name, Others: true}
	var public []string
	total, rare, foreign := 0., 0, 0
	for _, text := range slices.Sorted(maps.Keys(p.texts)) {
		switch {
		case p.texts[text] < leastRows:
			rare++
			continue
		case params.CheckName("value", text) != nil:
			foreign++
			continue
		}
		share := roundShare(float64(p.texts[text]) / float64(rows))
		total += share
		c.Values, c.Shares = append(c.Values, text), append(c.Shares, share)
	}
	for ; total > 1+coarse/2; total -= coarse {
		i := slices.Index(c.Shares, slices.Max(c.Shares))
		c.Shares[i] = decimal(c.Shares[i] - coarse)
	}
	var notes []string
	if foreign > 0 {
		notes = append(notes, fmt.Sprintf("%d texts are no values, as they are no printable ASCII: write ü as ue", foreign))
	}
	if rare > 0 {
		notes = append(notes, fmt.Sprintf("%d texts that fewer than %d rows have are no values", rare, leastRows))
	}
	if d.Note = strings.Join(notes, "; "); len(c.Values) < 2 {
		d.Note = cmp.Or(d.Note, "it tells nothing")
		return nil
	}
	for i, v := range c.Values {
		public = append(public, fmt.Sprintf("%s %g", v, c.Shares[i]))
	}
	d.Public = strings.Join(public, ", ")
	return c
}

// gridStep returns the least of 1, 2 and 5 times a power of ten that is at least x, which is above 0.
func gridStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= x {
			return decimal(times * power)
		}
	}
	return decimal(10 * power)
}

// decimal returns x with twelve digits: without the last digits of a binary sum or product.
func decimal(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64) // it is a number
	return y + 0                                                        // no negative zero
}

// roundShare rounds a share to twentieths.
func roundShare(x float64) float64 { return decimal(math.Round(x/coarse) * coarse) }

// roundRate rounds a rate to twentieths, or near an end to one digit.
func roundRate(x float64) float64 {
	const ends, least = 0.1, 0.001
	switch {
	case x > 1-ends:
		return decimal(1 - roundRate(1-x))
	case x >= ends:
		return roundShare(x)
	}
	power := math.Pow(10, math.Floor(math.Log10(max(x, least))))
	return max(least, decimal(math.Round(x/power)*power))
}
