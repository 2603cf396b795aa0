package app

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/tx"
)

// Description describes an operation for events, the explorer and the command line.
type Description struct {
	Participant uint32      // the sender, or the accused participant of evidence; 0 for an outsider
	Sent        bool        // whether Participant is the sender of the operation
	Summary     string      // the operation in one line of text
	Attributes  []Attribute // values for display and for events; tx_search finds the operation by them
	Details     []Attribute // values for display only
}

// Attribute is a named value in a Description.
type Attribute struct{ Key, Value string }

// Describe describes an operation. For a gradient, a commitment or an aggregate it returns an error
// that wraps ErrOrder.
func Describe(t *tx.Tx) (Description, error) {
	op, err := operationOf(t.Kind(), t.Body)
	if err != nil {
		return Description{}, err
	}
	d, from := op.describe(), op.sender()
	d.Participant, d.Sent = from.index, from.auth == authMember || from.auth == authApproval
	var common []Attribute
	if d.Sent {
		common = append(common, Attribute{"participant", number(from.index)})
	}
	if from.auth == authMember && from.subject != "" {
		common = append(common, Attribute{"subject", from.subject})
	}
	d.Attributes = append(common, d.Attributes...)
	if _, ok := op.(enactable); ok {
		id := t.ID()
		d.Attributes = append(d.Attributes, Attribute{"proposal", hex.EncodeToString(id[:])})
	}
	return d, nil
}

// SubjectOf returns the participant and the subject of an operation. The participant is the sender, the accused
// participant of evidence, or 0 for an outsider. The pool holds one operation of each kind, participant and subject.
func SubjectOf(t *tx.Tx) (participant uint32, subject string) {
	op, err := operationOf(t.Kind(), t.Body)
	if err != nil {
		return 0, ""
	}
	from := op.sender()
	return from.index, from.subject
}

// Value returns the value of the attribute with the given key, "" if the description has no such attribute.
func (d Description) Value(key string) string {
	for _, a := range d.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// About describes the change that a proposal requests, with all keys that the proposal registers: members compare the
// keys before they approve. A value with a space or a special character is quoted, so that the value cannot imitate
// another attribute. About fails if the proposal cannot be decoded.
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
