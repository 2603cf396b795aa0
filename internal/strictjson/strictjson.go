// Package strictjson decodes JSON documents that several programs must decode to the same values.
//
// If two members have the same name, encoding/json takes the last one, or merges them if both are objects. It also
// takes "RULE" for "rule". Other decoders differ, so two nodes could start from one genesis with different states. The
// names in this project's documents have only a-z, 0-9 and _, so each name has one spelling.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ErrName is wrapped by every error about a name.
var ErrName = errors.New("ambiguous JSON")

// ErrValue is wrapped by every error about a value.
var ErrValue = errors.New("ambiguous value")

// Decode decodes one JSON value. It rejects unknown names, duplicate names, names with other
// characters than a-z, 0-9 and _, and anything after the value.
func Decode(data []byte, into any) error {
	if err := Names(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Names rejects a document in which an object has a name twice, or a name with other characters
// than a-z, 0-9 and _. The error names the path to the name.
func Names(data []byte) error { return walk(data, checkName, anything) }

// Exact rejects what Names rejects, and each value that decoders may read differently: null, which leaves Go's
// variables as they are; a number that is -0; and a text with a line break, which Go's base64 skips.
func Exact(data []byte) error { return walk(data, checkName, checkExact) }

func checkName(name string) error {
	if i := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}); i >= 0 {
		return fmt.Errorf("%w: name %.64q, want a-z, 0-9 and _", ErrName, name)
	}
	return nil
}

func checkExact(value json.Token) error {
	switch value := value.(type) {
	case nil:
		return fmt.Errorf("%w: null, want a value, or not the name", ErrValue)
	case json.Number:
		if x, err := value.Float64(); err == nil && x == 0 && math.Signbit(x) {
			return fmt.Errorf("%w: %.64s is -0, want 0", ErrValue, value)
		}
	case string:
		if strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("%w: %.64q has a line break", ErrValue, value)
		}
	}
	return nil
}

func anything(json.Token) error { return nil }

// Unique rejects a document in which an object has a name twice. It is for objects whose names are data.
func Unique(data []byte) error { return walk(data, func(string) error { return nil }, anything) }

// level is an object or a list that the decoder has entered.
type level struct {
	names map[string]bool // nil for a list
	at    string          // the last name
	n     int             // the number of a list's elements that have begun
	value bool            // an object's name was read, but not its value
}

// walk reads one document to its end. It passes each name of an object to check, and each text, number, boolean and
// null to checkValue.
func walk(data []byte, check func(name string) error, checkValue func(json.Token) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var open []level
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return errors.New("unexpected end of JSON input")
		}
		if err != nil {
			return err
		}
		if open, err = step(open, token, check, checkValue); err != nil || len(open) == 0 {
			return err
		}
	}
}

// step returns the open levels after a token. open holds the levels before it, innermost last.
func step(open []level, token json.Token, check func(string) error, checkValue func(json.Token) error) ([]level,
	error) {
	delim, isDelim := token.(json.Delim)
	if delim == '}' || delim == ']' {
		return open[:len(open)-1], nil
	}
	if top := len(open) - 1; top >= 0 {
		l := &open[top]
		if l.names != nil && !l.value {
			l.at, l.value = token.(string), true
			return open, name(open, check)
		}
		l.value = false
		l.n++
	}
	switch delim {
	case '{':
		open = append(open, level{names: map[string]bool{}})
	case '[':
		open = append(open, level{})
	}
	if isDelim {
		return open, nil
	}
	if err := checkValue(token); err != nil {
		return open, fmt.Errorf("%s: %w", path(open), err)
	}
	return open, nil
}

// name checks the name that the innermost object has just read.
func name(open []level, check func(name string) error) error {
	l := open[len(open)-1]
	if l.names[l.at] {
		return fmt.Errorf("%w: %s is given twice", ErrName, path(open))
	}
	l.names[l.at] = true
	if err := check(l.at); err != nil {
		return fmt.Errorf("%s: %w", path(open), err)
	}
	return nil
}

// path returns the path to the last name or element that was read, such as participants[3].name.
func path(open []level) string {
	var b strings.Builder
	for _, l := range open {
		switch {
		case l.names == nil:
			b.WriteString("[" + strconv.Itoa(max(0, l.n-1)) + "]")
		case b.Len() > 0:
			b.WriteString("." + l.at)
		default:
			b.WriteString(l.at)
		}
	}
	if text := b.String(); len(text) <= 200 {
		return text
	}
	return b.String()[:200] + "..."
}
