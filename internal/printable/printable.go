// Package printable makes untrusted text safe to print.
package printable

import (
	"strings"
	"unicode"
)

// Text replaces all characters that could control a terminal, because text from a node or a file
// may have been written by an attacker.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Cell returns a text for a cell of a CSV file. It changes a text that a spreadsheet would
// interpret as a formula.
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
