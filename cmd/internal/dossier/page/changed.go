package page

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// maxChanged is the max number of changes that Changed names.
const maxChanged = 8

// number matches the number of a claim in a line of a page.
var number = regexp.MustCompile(`^(?:<(?:p|tr) id="c|- \*\*|\| )([0-9]+\.[0-9]+)`)

// Changed names the differences between a page and the page that it must be, claim by claim. It
// returns nothing if the bytes are equal.
func Changed(want, got []byte) (out []string) {
	if bytes.Equal(want, got) {
		return nil
	}
	left := map[string]int{} // how often each line of got is still without a counterpart
	for line := range strings.SplitSeq(string(got), "\n") {
		left[line]++
	}
	add := func(format string, args ...any) {
		if len(out) < maxChanged {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	said := map[string]string{} // by the number of the claim
	for line := range strings.SplitSeq(string(got), "\n") {
		if m := number.FindStringSubmatch(line); m != nil {
			said[m[1]] = line
		}
	}
	named := map[string]bool{}
	for line := range strings.SplitSeq(string(want), "\n") {
		if left[line] > 0 {
			left[line]--
			continue
		}
		switch m := number.FindStringSubmatch(line); {
		case m == nil:
			add("the line %.80q is not there as the proofs render it", line)
		case said[m[1]] == "" || said[m[1]] == line:
			add("sentence %s is missing: proven is %.300q", m[1], line)
		default:
			named[said[m[1]]] = true
			add("sentence %s says %.300q, proven is %.300q", m[1], said[m[1]], line)
		}
	}
	for line := range strings.SplitSeq(string(got), "\n") {
		if left[line] > 0 && !named[line] {
			left[line]--
			add("the line %.300q does not follow from the proofs", line)
		}
	}
	if out == nil {
		add("its lines are in another order")
	}
	return out
}
