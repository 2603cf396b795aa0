package app

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/tx"
)

// Description describes an operation to events, pages and people.
type Description struct {
	Participant uint32      // the sender, or the one that evidence is against; 0 for an outsider
	Sent        bool        // Participant is the sender
	Summary     string      // one line
	Attributes  []Attribute // what one searches by
	Details     []Attribute // what only people read
}

// Attribute is a name and a value.
type Attribute struct{ Key, Value string }

// Describe describes an operation. It returns an error that wraps ErrOrder for
// a transaction of a round's own.
func Describe(t *tx.Tx) (Description, error) {
	op, err := operationOf(t.Kind(), t.Body)
	if err != nil {
		return Description{}, err
	}
	d, from := op.describe(), op.sender()
	d.Participant, d.Sent = from.index, from.by == byMember || from.by == byVoter
	var common []Attribute
	if d.Sent {
		common = append(common, Attribute{"participant", number(from.index)})
	}
	if from.by == byMember && from.subject != "" {
		common = append(common, Attribute{"subject", from.subject})
	}
	d.Attributes = append(common, d.Attributes...)
	if _, ok := op.(enactable); ok {
		id := t.ID()
		d.Attributes = append(d.Attributes, Attribute{"proposal", hex.EncodeToString(id[:])})
	}
	return d, nil
}

// SubjectOf returns the sender of an operation, or the participant that evidence is against, or 0
// for an outsider, and what the operation is about. A pool holds one operation of a kind for such a
// pair.
func SubjectOf(t *tx.Tx) (participant uint32, subject string) {
	op, err := operationOf(t.Kind(), t.Body)
	if err != nil {
		return 0, ""
	}
	from := op.sender()
	return from.index, from.subject
}

// Value returns the value of an attribute, "" if there is none of that key.
func (d Description) Value(key string) string {
	for _, a := range d.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// About says what a proposal asks for: members compare the keys before they approve it.
// A value of more than one word is quoted, so that it cannot pass for another.
func (p *Proposal) About() (string, error) {
	op, err := p.decode()
	if err != nil {
		return "", err
	}
	d := op.describe()
	var parts []string
	for _, a := range append(d.Attributes, d.Details...) {
		value := a.Value
		if value == "" || strings.ContainsAny(value, " ,:\"\\") {
			value = strconv.Quote(value)
		}
		parts = append(parts, a.Key+" "+value)
	}
	if len(parts) == 0 {
		return d.Summary, nil
	}
	return d.Summary + ": " + strings.Join(parts, ", "), nil
}

func number[T uint32 | uint64](x T) string { return strconv.FormatUint(uint64(x), 10) }
