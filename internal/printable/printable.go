// Package printable makes untrusted text safe to print.
package printable

import (
	"strconv"
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

// Line returns untrusted text as one line. It writes characters that do not print as a Go string does,
// such as \n and \x1b.
func Line(text string) string {
	var line strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			line.WriteRune(r)
		} else {
			escaped := strconv.QuoteRune(r)
			line.WriteString(escaped[1 : len(escaped)-1])
		}
	}
	return line.String()
}

// Cell returns a text for a cell of a CSV file. It changes a text that a spreadsheet would interpret as a formula.
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
