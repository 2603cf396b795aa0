package params

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// CheckText keeps out what breaks a terminal or a table; what a web page must
// escape is the page's to escape.
func CheckText(name, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d", name, len(text), limit)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s %q is not UTF-8", name, text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s %q has the character %U, which does not print", name, text, r)
		}
	}
	return nil
}
