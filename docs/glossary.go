// Package docs gives programs the documents whose text they show.
package docs

import (
	_ "embed" // of the glossary
	"regexp"
	"strings"
)

//go:embed README.md
var readme string

// A Term is a word of the glossary with its meaning, a text without markup.
type Term struct{ Word, Means string }

var entry = regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*: ((?:.+\n)(?:  .+\n)*)`)

// Glossary returns the words of README.md, in its order: those of users first.
func Glossary() []Term {
	var out []Term
	for _, m := range entry.FindAllStringSubmatch(readme, -1) {
		out = append(out, Term{Word: m[1], Means: strings.Join(strings.Fields(m[2]), " ")})
	}
	return out
}
