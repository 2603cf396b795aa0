package chainview

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/spdl/spdl/abci/query"
)

// These patterns match the beginning of a proposal's text up to the index of a member.
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
// "alice (#0)". Monikers that are not plain words are quoted, so that none adds a line to the text.
func AboutByName(m query.Membership, p query.Proposal) string {
	text := p.About
	if at := aboutSubject.FindStringSubmatch(text); at != nil {
		text = at[1] + nameAt(m, at[2]) + text[len(at[0]):]
	}
	if at := aboutProposer.FindStringSubmatch(text); at != nil {
		text = nameAt(m, at[1]) + text[len(at[1]):]
	}
	return text
}

// nameAt is NameOf for an index in decimal digits.
func nameAt(m query.Membership, digits string) string {
	index, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return digits
	}
	return NameOf(m, uint32(index))
}

// NameOf returns the moniker and the index of the member with the given index, as "alice (#0)". If
// there is no such member, it returns only the index.
func NameOf(m query.Membership, index uint32) string {
	for _, q := range m.Members {
		if q.Index == index && q.Moniker != "" {
			return fmt.Sprintf("%s (#%d)", MonikerText(q.Moniker), index)
		}
	}
	return strconv.FormatUint(uint64(index), 10)
}
