// Package printable makes untrusted text safe to print.
package printable

import (
	"strings"
	"unicode"
)

// Text replaces all characters that could control a terminal: a node, or the author of a file, may
// say anything.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
