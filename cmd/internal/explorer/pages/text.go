package pages

import (
	"encoding/hex"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/docs"
	"github.com/spdl/spdl/privacy/accountant"
)

// person is a participant as pages show it.
type person struct {
	Index   uint32
	Moniker string
}

// functions are what templates may call.
var functions = template.FuncMap{
	"hex":      func(b []byte) string { return hex.EncodeToString(b) },
	"begins":   strings.HasPrefix,
	"sentence": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." },
	"cut":      func(s string) string { return Short(s, 12) },
	"words":    func(s string) string { return strings.ReplaceAll(s, "-", " ") },
	"share":    func(ppm int64) string { return fmt.Sprintf("%.4f", float64(ppm)/params.One) },
	"change": func(ppm int64) string {
		if ppm == 0 {
			return "±0"
		}
		return fmt.Sprintf("%+.4f", float64(ppm)/params.One)
	},
	"percent":  func(x *float64) string { return fmt.Sprintf("%.2f %%", *x*100) },
	"accuracy": accuracyText,
	"rows":     rowsText,
	"weight":   chainview.WeightText,
	"term":     termOf,
	"lasts":    lasts,
	"figure":   func(x *float64) string { return fmt.Sprintf("%.4g", *x) },
	"spent":    func(epsilon *float64) string { return accountant.Text(*epsilon) },
	"clock":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
	"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"age":      func(t time.Time) string { return age(time.Since(t)) },
	"now":      time.Now,
	"person":   func(index uint32, moniker string) person { return person{index, moniker} },
	"people":   peopleOf,
	"hour":     func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	// the width of a bar of 100 for a part of a whole
	"bar": func(part, whole int) float64 { return 100 * min(1, max(0, float64(part)/float64(max(1, whole)))) },
	// the parts of a rule's name between which a line may break
	"ruleparts": func(rule string) []string { return strings.SplitAfter(rule, "+") },
	"join": func(list []uint32) string {
		if more := len(list) - some; more > 0 {
			return fmt.Sprintf("%s and %d more", listed(list[:some]), more)
		}
		return listed(list)
	},
	"percents": func(ppm int64) float64 { return 100 * math.Min(1, math.Max(0, float64(ppm)/params.One)) },
	"hundred":  func(x float64) float64 { return 100 * x },
	"plus":     func(x, y float64) float64 { return x + y },
	"minus":    func(x, y float64) float64 { return x - y },
	"value":    func(x *float64) float64 { return *x },
	"spread":   func(share float64) float64 { return share * (1 - share) },
	"part":     func(part, whole uint64) string { return fmt.Sprintf("%.2f", 100*float64(part)/float64(max(1, whole))) },
	"portion":  func(part, whole int) string { return fmt.Sprintf("%.3g %%", 100*float64(part)/float64(max(1, whole))) },
}

// The max numbers of participants in a short list, and of names in a sentence.
const some, few = 20, 10

// people are the first participants of a list, and the number of the remaining ones.
type people struct {
	Shown []person
	More  int
}

func peopleOf(list []uint32, names map[uint32]string) people {
	out := people{More: max(0, len(list)-few)}
	for _, index := range list[:len(list)-out.More] {
		out.Shown = append(out.Shown, person{index, names[index]})
	}
	return out
}

// namesOf returns the names of participants by their numbers.
func namesOf(all []chainview.Standing) map[uint32]string {
	names := map[uint32]string{}
	for _, s := range all {
		names[s.Participant] = s.Moniker
	}
	return names
}

// listed returns numbers as a list for a sentence.
func listed(of []uint32) string {
	if len(of) == 0 {
		return "none"
	}
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(of), "[]")), ", ")
}

// age returns how long ago a time is. assets/live.js writes the same text.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// lasts returns a rounded duration as text.
func lasts(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}

// term is a word of the glossary, with the text that pages show in place of the word.
type term struct {
	docs.Term
	Label string
}

var glossary = docs.Glossary()

// termOf returns a word of the glossary, under a label if one is given.
func termOf(word string, label ...string) (term, error) {
	i := slices.IndexFunc(glossary, func(t docs.Term) bool { return t.Word == word })
	if i < 0 {
		return term{}, fmt.Errorf("term %q is not in the glossary", word)
	}
	return term{glossary[i], append(label, word)[0]}, nil
}

// fewRows is the number of test rows below which a page shows an accuracy with its interval.
const fewRows = 1000

// accuracyText returns an accuracy with the number of rows that it was measured on, and with its 95
// % interval if they are few.
func accuracyText(p chainview.Point) string {
	if p.Accuracy == nil {
		return "-"
	}
	return strings.TrimSpace(fmt.Sprintf("%.2f %% %s", 100**p.Accuracy, rowsText(p)))
}

// rowsText returns the phrase "of N rows" that follows an accuracy, with the interval if N is
// small. It returns "" if N is unknown.
func rowsText(p chainview.Point) string {
	switch {
	case p.Accuracy == nil || p.Examples <= 0:
		return ""
	case p.Examples >= fewRows:
		return fmt.Sprintf("of %s rows", grouped(p.Examples))
	}
	low, high := interval(*p.Accuracy, p.Examples)
	return fmt.Sprintf("of %s rows (95 %% interval %.1f to %.1f %%)", grouped(p.Examples), 100*low, 100*high)
}

// interval returns the 95 % interval of a share of n rows, by Wilson (Journal of the American Statistical Association
// 22, 1927). This interval stays within 0 and 1, and has a width even if all rows are right.
func interval(share float64, n int) (low, high float64) {
	const z = 1.959964
	rows := float64(n)
	middle := share + z*z/(2*rows)
	around := z * math.Sqrt(share*(1-share)/rows+z*z/(4*rows*rows))
	return max(0, (middle-around)/(1+z*z/rows)), min(1, (middle+around)/(1+z*z/rows))
}

// grouped returns a number with a comma before each three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// stacked is the max number of consecutive combining marks.
const stacked = 4

// Visible replaces characters in finished text with escapes: those that do not print (control
// characters, bidirectional controls, zero widths, private use, spaces other than the plain one),
// bytes that are not UTF-8, and marks that pile up. Line feeds and tabs stay.
func Visible(text []byte, escape func(dst []byte, r rune, raw byte) []byte) []byte {
	dst := make([]byte, 0, len(text)+64)
	marks := 0
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		if r, size = utf8.DecodeRune(text[i:]); unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			dst = escape(dst, -1, text[i])
		case marks > stacked, r != '\n' && r != '\t' && !unicode.IsPrint(r):
			dst = escape(dst, r, 0)
		default:
			dst = append(dst, text[i:i+size]...)
		}
	}
	return dst
}

// ForPage writes the escape \u{202E} for a character, and \xFF for a byte.
func ForPage(dst []byte, r rune, raw byte) []byte {
	if r < 0 {
		return fmt.Appendf(dst, `\x%02X`, raw)
	}
	return fmt.Appendf(dst, `\u{%X}`, r)
}

// ForJSON writes escapes of JSON, which have the same meaning as the character.
func ForJSON(dst []byte, r rune, _ byte) []byte {
	switch {
	case r < 0:
		r = utf8.RuneError
	case r > 0xffff:
		r -= 0x10000
		return fmt.Appendf(dst, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

// Short returns the first n characters of a text.
func Short(text string, n int) string {
	count := 0
	for i := range text {
		if count++; count > n {
			return text[:i] + "..."
		}
	}
	return text
}
