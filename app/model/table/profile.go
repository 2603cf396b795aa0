package table

import (
	"math"
	"regexp"
	"strings"
	"time"
)

// maxTexts bounds the number of different texts of a column that a profile holds, so that it takes the
// same memory for every file.
const maxTexts = 64

// profile is what one pass over a file finds in a column.
type profile struct {
	name                     string
	missing, numbers, dates  int // rows
	quoted                   int // rows with a number that has a comma, in a file with commas between the values
	low, high, mean, squares float64
	whole, counting          bool // the numbers are whole; each is one more than the one before
	firstBad                 int  // the line of the first text that is neither missing nor a number, 0 without one
	texts                    map[string]int
	many                     bool // there are more than maxTexts different texts
	last                     float64
	lastText                 string
	repeats                  bool // a row has the text of the row before
	commas                   bool // a number has a comma for its point
}

// profiles reads a whole file, a row at a time.
func (f *file) profiles(label, group string) (all []*profile, units int, err error) {
	for _, name := range f.header {
		all = append(all, &profile{name: name, low: math.Inf(1), high: math.Inf(-1), whole: true, counting: true,
			texts: map[string]int{}})
	}
	n, err := f.groupNumbers(group)
	if err != nil {
		return nil, 0, err
	}
	for {
		more, err := f.readRow()
		if err != nil || !more {
			return all, n.units(f), err
		}
		n.numberOf(f)
		for i, p := range all {
			switch p.name {
			case group:
			case label:
				if isMissing(strings.TrimSpace(f.row[i])) {
					p.missing++
				}
				p.count(f.row[i])
			default:
				p.add(f, i)
			}
		}
	}
}

// add adds the current row's value.
func (p *profile) add(f *file, at int) {
	text := strings.TrimSpace(f.row[at])
	if isMissing(text) {
		p.missing++
		return
	}
	x, ok := f.parse(text)
	if !ok {
		if p.firstBad == 0 {
			p.firstBad, _ = f.csv.FieldPos(at)
		}
		p.counting = false
		if isDate(text) {
			p.dates++
		} else if _, is := f.parse(strings.ReplaceAll(text, ",", "")); is {
			p.quoted++
		}
	} else {
		p.numbers++
		p.low, p.high = min(p.low, x), max(p.high, x)
		off := x - p.mean
		p.mean += off / float64(p.numbers)
		p.squares += off * (x - p.mean)
		p.whole = p.whole && x == math.Trunc(x)
		p.counting = p.counting && (p.numbers == 1 || x == p.last+1)
		p.last, p.commas = x, p.commas || strings.Contains(text, ",")
	}
	p.count(text)
}

// count counts a text.
func (p *profile) count(text string) {
	text = strings.TrimSpace(text)
	p.repeats = p.repeats || text == p.lastText
	if p.lastText = text; p.many {
		return
	}
	if _, known := p.texts[text]; !known {
		if p.many = len(p.texts) == maxTexts; p.many {
			return
		}
		text = strings.Clone(text) // not the whole row
	}
	p.texts[text]++
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
var idName = regexp.MustCompile(`(?i)^(id|nr|no|uuid|mrn|index|rownames|column \d+)$|[_ .-](id|nr|no|uuid|key)$|` +
	`^(patient|subject)[_ .-]?(no|nr|num|number|id)?$|(?-i)[a-z]I[Dd]$`)
