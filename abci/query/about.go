package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// The places of a proposal's text that hold the index of a member.
var (
	aboutProposer = regexp.MustCompile(`^(\d+) proposes `)
	aboutSubject  = regexp.MustCompile(`^((?:\d+ proposes to (?:remove|restore)|leave of|rotation of) )(\d+)`)
)

// MonikerText returns a moniker, in quotes unless it is a plain word: a moniker may be any text.
func MonikerText(moniker string) string {
	if moniker == "" || strings.ContainsFunc(moniker, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) {
		return strconv.Quote(moniker)
	}
	return moniker
}

// AboutByName returns the text about a proposal with the moniker of each member beside its index, as
// "alice (#0)". A moniker forges no line.
func (m Membership) AboutByName(p Proposal) string {
	text := p.About
	if at := aboutSubject.FindStringSubmatch(text); at != nil {
		text = at[1] + m.name(at[2]) + text[len(at[0]):]
	}
	if at := aboutProposer.FindStringSubmatch(text); at != nil {
		text = m.name(at[1]) + text[len(at[1]):]
	}
	return text
}

// name returns the moniker and the index of a member, or the index alone if there is no such member.
func (m Membership) name(index string) string {
	for _, q := range m.Members {
		if strconv.FormatUint(uint64(q.Index), 10) == index && q.Moniker != "" {
			return fmt.Sprintf("%s (#%s)", MonikerText(q.Moniker), index)
		}
	}
	return index
}
