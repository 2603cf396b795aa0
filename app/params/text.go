package params

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// CheckText rejects text of more than limit bytes, and text with characters other than printable
// ASCII, U+0020 to U+007E. Other characters could break a terminal or a table. Unicode's tables of
// printable characters grow, so nodes that were built with different releases of Go could disagree
// about other characters. CheckText does not escape text for web pages.
func CheckText(name, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d", name, len(text), limit)
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return fmt.Errorf("%s %+q has byte 0x%02X at %d, want printable ASCII alone (0x20 to 0x7E)", name, text, c, i)
		}
	}
	return nil
}

// hashDigits is the length of a SHA-256 in hexadecimal digits.
const hashDigits = 2 * sha256.Size

// isHash reports whether text is a SHA-256 in lower-case hexadecimal digits.
func isHash(text string) bool {
	return len(text) == hashDigits && strings.Trim(text, "0123456789abcdef") == ""
}
