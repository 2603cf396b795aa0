package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxTexts bounds the different texts of a column that a profile holds, so that each file takes the same memory.
const maxTexts = 64

// profile is what one pass over a file finds in a column.
type profile struct {
	name                     string
	label                    bool
	missing, numbers, dates  int // rows
	quoted                   int // rows with a number that has a comma, in a file with commas between the values
	low, high, mean, squares float64
	whole, counting          bool   // the numbers are whole; each is one more than the one before
	firstBad                 string // where the first text is that is neither missing nor a number
	texts                    map[string]int
	many                     bool // there are more than maxTexts different texts
	last                     float64
	begun                    bool // the current file has a number
	lastText                 string
	repeats                  bool // a row has the text of the row before
	commas                   bool // a number has a comma for its point
	files                    []string
	numeric, worded          string // a file whose texts are all numbers, and one that has none

	first   string         // of the label's column: the label of the first row
	absent  [2]int         // rows without a value, of the first label and of the others
	ends    [2][2]float64  // least and greatest number of either
	labelOf map[string]int // of each text's first row
	mixed   bool           // a text has rows of both
}

// addFile reads a whole file, a row at a time, into the profiles of all files, and returns its rows and units.
func addFile(all *[]*profile, path, label, group string) (rows, units int, err error) {
	f, err := stream(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.close()
	n, err := f.groupNumbers(group)
	_, wrong := f.column(label)
	if err = errors.Join(err, wrong); err != nil {
		return 0, 0, err
	}
	columns, before := make([]*profile, len(f.header)), make([]profile, len(f.header))
	for i, name := range f.header {
		at := slices.IndexFunc(*all, func(p *profile) bool { return p.name == name })
		if at < 0 {
			at = len(*all)
			no := [2]float64{math.Inf(1), math.Inf(-1)}
			*all = append(*all, &profile{name: name, low: no[0], high: no[1], ends: [2][2]float64{no, no}, whole: true,
				counting: true, texts: map[string]int{}, labelOf: map[string]int{}})
		}
		p := (*all)[at]
		p.begun, p.label, p.files = false, name == label, append(p.files, f.name)
		if p.label {
			p.firstBad = "" // of this file
		}
		columns[i], before[i] = p, *p
	}
	for more := true; more; {
		if more, err = f.readRow(); err != nil || !more {
			break
		}
		n.numberOf(f)
		p, text, which := columns[f.at[label]], strings.TrimSpace(f.row[f.at[label]]), 0
		if p.first == "" {
			p.first = strings.Clone(text)
		} else if text != p.first {
			which = 1
		}
		for i, p := range columns {
			if p.name != group {
				p.add(f, i, which)
			}
		}
	}
	for i, p := range columns {
		switch missing, numbers := p.missing-before[i].missing, p.numbers-before[i].numbers; {
		case p.name == label && missing > 0:
			f.note(i, &fault{text: fmt.Sprintf("%d of %d rows have no label in column %q, the first in %s: leave these "+
				"rows out", missing, f.rows, label, p.firstBad)})
		case numbers > 0 && missing+numbers == f.rows:
			p.numeric = f.name
		case numbers == 0 && missing < f.rows:
			p.worded = f.name
		}
	}
	return f.rows, n.units(f), cmp.Or(err, f.fault())
}

// add adds the current row's value. which is 0 if the row has the first label.
func (p *profile) add(f *file, at, which int) {
	text := strings.TrimSpace(f.row[at])
	x, ok := f.parse(text)
	missing := isMissing(text)
	if !ok && p.firstBad == "" && missing == p.label {
		p.firstBad = f.place(at) + " of " + f.name
	}
	if missing {
		p.missing++
		p.absent[which]++
		return
	}
	if !ok {
		p.counting = false
		if isDate(text) {
			p.dates++
		} else if _, is := f.parse(strings.ReplaceAll(text, ",", "")); is {
			p.quoted++
		}
	} else {
		if !p.label { // pandas writes 3.0 for 3 where another row has none
			text = strings.TrimSuffix(text, ".0")
		}
		p.numbers++
		p.low, p.high = min(p.low, x), max(p.high, x)
		p.ends[which] = [2]float64{min(p.ends[which][0], x), max(p.ends[which][1], x)}
		off := x - p.mean
		p.mean += off / float64(p.numbers)
		p.squares += off * (x - p.mean)
		p.whole = p.whole && x == math.Trunc(x)
		p.counting = p.counting && (!p.begun || x == p.last+1)
		p.begun, p.last, p.commas = true, x, p.commas || strings.Contains(text, ",")
	}
	p.count(text, which)
}

// count counts a text.
func (p *profile) count(text string, which int) {
	p.repeats = p.repeats || text == p.lastText
	if p.lastText = text; p.many {
		return
	}
	if _, known := p.texts[text]; !known {
		if p.many = len(p.texts) == maxTexts; p.many {
			return
		}
		text = strings.Clone(text) // not the whole row
		p.labelOf[text] = which
	}
	p.texts[text]++
	p.mixed = p.mixed || p.labelOf[text] != which
}

// leak says how a column tells one of two labels from the other, "" if it does not. A few rows do so by chance.
func (p *profile) leak(label *profile, rows int) string {
	const few, nearly = 10, 0.95
	one := label.texts[label.first]
	absent := [2]float64{float64(p.absent[0]) / float64(one), float64(p.absent[1]) / float64(rows-one)}
	switch {
	case len(label.texts) != 2 || min(one, rows-one) < few:
	case math.Abs(absent[0]-absent[1]) >= nearly:
		return fmt.Sprintf("missing in %.3g %% of the rows with the label %q and in %.3g %% of the others", 100*absent[0],
			label.first, 100*absent[1])
	case min(one-p.absent[0], rows-one-p.absent[1]) < few:
	case p.numbers == rows-p.missing && (p.ends[0][1] < p.ends[1][0] || p.ends[1][1] < p.ends[0][0]),
		!p.mixed && !p.many && few*len(p.texts) <= rows-p.missing:
		return "each of its values is of one label alone"
	}
	return ""
}

// isDate reports whether a text begins as a date does.
func isDate(text string) bool {
	if len(text) < 8 || text[0] < '0' || text[0] > '9' {
		return false
	}
	text, _, _ = strings.Cut(strings.Replace(text, "T", " ", 1), " ")
	for _, layout := range []string{"2006-1-2", "2.1.2006", "2/1/2006", "1/2/2006", "2006/1/2", "2-1-2006", "2-Jan-2006",
		"2.1.06", "2/1/06", "1/2/06"} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// idName matches the names of columns that tell rows or people apart.
var idName = regexp.MustCompile(`(?i)^(p?id|nr|no|uuid|mrn|index|rownames|column \d+)$|[_ .-](id|nr|no|uuid|key)$|` +
	`^(patient|subject)[_ .-]?(no|nr|num|number|id)?$|(?-i)[a-z]I[Dd]$`)
