// Package spelling finds the known words that a misspelt word may stand for.
package spelling

import (
	"slices"
	"strings"
)

// Distance is the max number of edits between a word and a misspelling of it.
const Distance = 2

// most is the max number of words that Closest returns.
const most = 3

// Closest returns the known words that a word may be a misspelling of, or the beginning of, in
// their order. It ignores case, and returns at most three words.
func Closest(word string, all []string) []string {
	var out []string
	lower := strings.ToLower(word)
	for _, known := range all {
		other := strings.ToLower(known)
		if word != "" && (strings.HasPrefix(other, lower) || edits(lower, other) <= Distance) && len(out) < most &&
			!slices.Contains(out, known) {
			out = append(out, known)
		}
	}
	return out
}

// Suggest returns a question in parentheses that names the closest known words, to follow an unknown
// word in an error. It returns "" if no known word is close.
func Suggest(word string, all []string) string {
	return Question(Closest(word, all))
}

// Question is Suggest for given words.
func Question(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}

// edits returns the Levenshtein distance of two words, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
