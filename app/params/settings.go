package params

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// NotSet is the text that Changes has for a value that is 0, false or empty.
const NotSet = "not set"

// maxRunes is the max number of characters of a setting's text.
const maxRunes = 300

// Change describes a parameter that has different values in two sets of parameters.
type Change struct {
	Name   string `json:"name"` // path in genesis
	Before string `json:"before"`
	After  string `json:"after"`
	Unit   string `json:"unit,omitempty"`
}

// String returns the change as "training.learning_rate 30 -> 0.5". A value with characters that do not
// print is in quotes, so that the text is one line.
func (c Change) String() string {
	plain := func(text string) string {
		if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			return strconv.Quote(text)
		}
		return text
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s -> %s %s", c.Name, plain(c.Before), plain(c.After), c.Unit), " ")
}

// Settings returns the values of parameters as texts, by their path in genesis. Each text is a value
// in the unit that Meanings has for the path. Settings leaves out values that are 0, false or empty.
func Settings(p Params) (map[string]string, error) {
	values, err := valuesOf(p)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, value := range values {
		out[name] = textOf(name, value)
	}
	return out, nil
}

// Changes returns every parameter whose value differs, in the order of the paths. If the texts of both values are
// equal, because the text of a long list is shortened, each text ends with a hash of its value.
func Changes(before, after Params) ([]Change, error) {
	was, err := valuesOf(before)
	if err != nil {
		return nil, err
	}
	now, err := valuesOf(after)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(was)
	maps.Copy(all, now)
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if reflect.DeepEqual(was[name], now[name]) {
			continue
		}
		c := Change{name, textOf(name, was[name]), textOf(name, now[name]), Meanings[name].Unit}
		if c.Before == c.After {
			c.Before += hashOf(was[name])
			c.After += hashOf(now[name])
		}
		if c.After == NotSet {
			c.Unit = ""
		}
		out = append(out, c)
	}
	return out, nil
}

// hashOf returns a text with the first bytes of the hash of a value. Changes appends it to texts of
// different values that would be equal.
func hashOf(value any) string {
	return fmt.Sprintf(" (SHA-256 %.8x)", sha256.Sum256(fmt.Appendf(nil, "%#v", value)))
}

// valuesOf returns the JSON values of parameters by their path in genesis. It does not look inside
// lists: a list is one value.
func valuesOf(p Params) (map[string]any, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var fields any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, err
	}
	out := map[string]any{}
	flatten(out, "", fields)
	return out, nil
}

func flatten(out map[string]any, name string, value any) {
	switch x := value.(type) {
	case map[string]any:
		for key, field := range x {
			flatten(out, strings.TrimPrefix(name+"."+key, "."), field)
		}
	case nil:
	default:
		out[name] = x
	}
}

// textOf returns a value as a text in the unit of its meaning: parts per million in percent, and the ledger's integers
// in nats. A list of more than eight values is shortened, and one of columns or tensors has their names.
func textOf(name string, value any) string {
	if value == nil {
		return NotSet
	}
	unit := Meanings[name].Unit
	if x, ok := value.([]any); ok && namesOf(x) != "" {
		return shorten(fmt.Sprintf("%d: %s", len(x), namesOf(x)))
	} else if ok && len(x) > 8 {
		last := len(x) - 1
		if unit == "nats" { // the ledger's last column has another unit
			last = min(last, ledgerOrders-1)
		}
		return fmt.Sprintf("%d values, from %s to %s", len(x), textOf(name, x[0]), textOf(name, x[last]))
	}
	n, ok := value.(json.Number)
	x, err := n.Float64()
	switch {
	case !ok || err != nil:
		return cmp.Or(shorten(fmt.Sprint(value)), `""`)
	case unit == "%":
		return strconv.FormatFloat(100*x/One, 'f', -1, 64)
	case unit == "nats":
		return fmt.Sprintf("%.4g", x/1e9)
	}
	return n.String()
}

// namesOf returns the names of a list of columns or tensors, "" for another list.
func namesOf(list []any) string {
	var names []string
	for _, x := range list {
		fields, _ := x.(map[string]any)
		if name, ok := fields["name"].(string); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// shorten cuts a text after maxRunes runes.
func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "..."
	}
	return text
}
