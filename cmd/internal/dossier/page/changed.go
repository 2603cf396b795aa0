package page

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// number matches the number of a claim in a line of a page.
var number = regexp.MustCompile(`^(?:<(?:p|tr) id="c|- \*\*|\| )([0-9]+\.[0-9]+)`)

// Changed names the first difference between a page and the page that it must be. It returns "" if the
// bytes are equal.
func Changed(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	proven, said := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	i := 0
	for i < min(len(proven), len(said)) && proven[i] == said[i] {
		i++
	}
	if i == len(said) {
		return fmt.Sprintf("it ends before %.300q", proven[i])
	}
	if i < len(proven) {
		if m := number.FindStringSubmatch(proven[i]); m != nil {
			return fmt.Sprintf("sentence %s says %.300q, proven is %.300q", m[1], said[i], proven[i])
		}
	}
	return fmt.Sprintf("the line %.300q does not follow from the proofs", said[i])
}
