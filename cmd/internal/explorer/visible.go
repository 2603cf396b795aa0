package explorer

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// stacked is the max number of consecutive combining marks.
const stacked = 4

// visible replaces characters in finished text with escapes: those that do not print (control
// characters, bidirectional controls, zero widths, private use, spaces other than the plain one),
// bytes that are not UTF-8, and marks that pile up. Line feeds and tabs stay.
func visible(text []byte, escape func(dst []byte, r rune, raw byte) []byte) []byte {
	dst := make([]byte, 0, len(text)+64)
	marks := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c == '\n' || c == '\t' || c >= ' ' && c != 0x7f {
				dst = append(dst, c)
			} else {
				dst = escape(dst, rune(c), 0)
			}
			i, marks = i+1, 0
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			dst = escape(dst, -1, text[i])
		case !unicode.IsPrint(r) || marks > stacked:
			dst = escape(dst, r, 0)
		default:
			dst = append(dst, text[i:i+size]...)
		}
		i += size
	}
	return dst
}

// forPage writes the escape \u{202E} for a character, and \xFF for a byte.
func forPage(dst []byte, r rune, raw byte) []byte {
	if r < 0 {
		return fmt.Appendf(dst, `\x%02X`, raw)
	}
	return fmt.Appendf(dst, `\u{%X}`, r)
}

// forJSON writes escapes of JSON, which have the same meaning as the character.
func forJSON(dst []byte, r rune, _ byte) []byte {
	switch {
	case r < 0:
		r = utf8.RuneError
	case r > 0xffff:
		r -= 0x10000
		return fmt.Appendf(dst, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

// short returns the first n characters of a text.
func short(text string, n int) string {
	count := 0
	for i := range text {
		if count++; count > n {
			return text[:i] + "..."
		}
	}
	return text
}
