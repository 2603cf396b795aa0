package internal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/internal/strictjson"
)

func TestNames(t *testing.T) {
	for text, says := range map[string]string{
		`{"a": 1, "a": 1}`: "a is given twice",
		`{"app_state": {"reputation": {"x": 1}, "reputation": {"x": 1}}}`: "app_state.reputation is given twice",
		`{"list": [0, {"b": {"c": 1}}, {"b": 1, "b": 2}]}`:                "list[2].b is given twice",
		`{"list": [[], [{"b": 1, "b": 2}]]}`:                              "list[1][0].b is given twice",
		`{"RULE": 1}`:                                                     `name "RULE", want a-z, 0-9 and _`,
		`{"ru\u017fe": 1}`:                                                "want a-z, 0-9 and _",
		`{"a\u212a": 1}`:                                                  "want a-z, 0-9 and _",
		`{"a": [{"B": 1}]}`:                                               "a[0].B",
		`{"a": 1`:                                                         "unexpected end of JSON input",
		``:                                                                "unexpected end of JSON input",
	} {
		require.ErrorContains(t, strictjson.Names([]byte(text)), says, text)
	}
	for _, text := range []string{`{}`, `[]`, `1`, `"A"`, `{"a": {"b": "A"}, "c": [{"b": 1}, {"b": 2}], "b": null}`,
		`[[], [{}], 3]`} {
		require.NoError(t, strictjson.Names([]byte(text)), text)
		require.NoError(t, strictjson.Unique([]byte(text)), text)
	}
	require.NoError(t, strictjson.Unique([]byte(`{"W": {"Shape": 1}, "w": 2}`)))
	require.ErrorIs(t, strictjson.Unique([]byte(`{"W": {"s": 1, "s": 2}}`)), strictjson.ErrName)
}

// TestExact: the values that decoders may read differently are refused at every depth, with the path.
func TestExact(t *testing.T) {
	for text, says := range map[string]string{
		`null`:                    "null",
		`{"a": null}`:             "a: ambiguous value: null",
		`{"a": [1, {"b": null}]}`: "a[1].b: ambiguous value: null",
		`[-0]`:                    "[0]: ambiguous value: -0 is -0",
		`{"a": -0.00e7}`:          "a: ambiguous value: -0.00e7 is -0",
		`{"a": -1e-999}`:          "is -0",
		`{"a": "QUJD\nREVG"}`:     `a: ambiguous value: "QUJD\nREVG" has a line break`,
		`{"a": "QUJDREVG\u000d"}`: "has a line break",
		`{"a": 1, "a": 2}`:        "a is given twice",
		`{"A": 1}`:                "want a-z, 0-9 and _",
	} {
		require.ErrorContains(t, strictjson.Exact([]byte(text)), says, text)
	}
	for _, text := range []string{`{}`, `{"a": [0, -1, 0.0, 1e400, true, false, "", "null", "-0", "a\tb"]}`} {
		require.NoError(t, strictjson.Exact([]byte(text)), text)
	}
}

func TestDecode(t *testing.T) {
	var into struct {
		Rule string `json:"rule"`
	}
	require.NoError(t, strictjson.Decode([]byte(` {"rule": "krum"} `), &into))
	require.Equal(t, "krum", into.Rule)
	require.ErrorContains(t, strictjson.Decode([]byte(`{"Rule": "krum"}`), &into), `"Rule"`)
	require.ErrorContains(t, strictjson.Decode([]byte(`{"rule": "krum", "rule": "mda"}`), &into), "rule is given twice")
	require.ErrorContains(t, strictjson.Decode([]byte(`{"rules": "krum"}`), &into), "unknown field")
	require.ErrorContains(t, strictjson.Decode([]byte(`{"rule": "krum"} {}`), &into), "more than one")
}

// TestDrawn: documents that are drawn are refused where a name was repeated in an object, and
// nowhere else.
func TestDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		twice := false
		var value func(depth int) string
		value = func(depth int) string {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0 && depth < 5:
				var b bytes.Buffer
				seen := map[string]bool{}
				for i := range rapid.IntRange(0, 3).Draw(t, "members") {
					name := rapid.SampledFrom([]string{"a", "b", "c", "d_1"}).Draw(t, "name")
					twice = twice || seen[name]
					seen[name] = true
					if i > 0 {
						b.WriteByte(',')
					}
					fmt.Fprintf(&b, "%q: %s", name, value(depth+1))
				}
				return "{" + b.String() + "}"
			case kind == 1 && depth < 5:
				var b bytes.Buffer
				for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
					if i > 0 {
						b.WriteByte(',')
					}
					b.WriteString(value(depth + 1))
				}
				return "[" + b.String() + "]"
			case kind == 2:
				return `"a"`
			}
			return "1.5"
		}
		text := []byte(value(0))
		require.True(t, json.Valid(text), "%s", text)
		for _, err := range []error{strictjson.Names(text), strictjson.Unique(text)} {
			if twice {
				require.ErrorIs(t, err, strictjson.ErrName, "%s", text)
			} else {
				require.NoError(t, err, "%s", text)
			}
		}
	})
}

// FuzzUnique: a valid document is refused where encoding/json's maps hold fewer members than it
// has, and nowhere else.
func FuzzUnique(f *testing.F) {
	for _, text := range []string{`{"a": 1, "a": 1}`, `{"a": {"b": 1}, "a": {"c": 1}}`, `{"a": [{"b": 1, "b": 2}]}`,
		`[{"a": [{"\u0061": 1}]}]`, `{"a": 1, "\u0061": 2}`, `{"": {"": 1}}`, `1`, `{"a": "\ud800", "b": 1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var maps any
		if json.Unmarshal(text, &maps) != nil {
			return
		}
		err := strictjson.Unique(text)
		twice := members(t, text) > size(maps)
		require.Equal(t, twice, err != nil, "%q: %v", text, err)
		if err != nil {
			require.ErrorIs(t, err, strictjson.ErrName)
		}
	})
}

// members counts the members of all objects of a document, those given twice too. It reads bytes
// alone: outside texts each colon belongs to a member.
func members(t *testing.T, text []byte) (n int) {
	inside := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			inside = !inside
		case inside && text[i] == '\\':
			i++
		case !inside && text[i] == ':':
			n++
		}
	}
	require.False(t, inside)
	return n
}

// size counts the members of maps at every depth.
func size(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, w := range v {
			n += 1 + size(w)
		}
	case []any:
		for _, w := range v {
			n += size(w)
		}
	}
	return n
}
