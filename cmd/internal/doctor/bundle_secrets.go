package doctor

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/home"
)

// removed is the text that replaces a secret.
const removed = "(removed)"

// minSecret is the min number of bytes of a secret that scrub searches for. A shorter one would remove ordinary words.
const minSecret = 6

// A scrubber removes the secrets that it knows, and texts that look like a secret.
type scrubber struct{ values [][]byte }

// named matches a value whose name says that it is a secret, in a log, a URL or JSON.
var named = regexp.MustCompile(
	`(?i)((?:pass(?:word|phrase)?|secret|token|api[_-]?key|authorization|priv(?:ate)?_?key)"?` +
		`\s*[=:]\s*(?:bearer\s+|basic\s+)?)("[^"]*"|[^\s,;&}]+)`)

// inURL matches the user and the password of a URL.
var inURL = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/\s"'@]+@`)

// scrub returns data without secrets.
func (s scrubber) scrub(data []byte) []byte {
	for _, v := range s.values {
		data = bytes.ReplaceAll(data, v, []byte(removed))
	}
	data = inURL.ReplaceAll(data, []byte("${1}"+removed+"@"))
	return named.ReplaceAll(data, []byte("${1}"+removed))
}

// secrets returns the values that no file of a bundle may hold: the private keys of the home, the
// parts of the configuration that are left out, and the credentials of addresses.
func secrets(h *Home) scrubber {
	var s scrubber
	add := func(text string) {
		if len(text) >= minSecret {
			s.values = append(s.values, []byte(text))
			if quoted, err := json.Marshal(text); err == nil {
				s.values = append(s.values, bytes.Trim(quoted, `"`))
			}
		}
	}
	credentials(h.RPC, add)
	if h.Invalid == nil {
		files, _ := home.KeyFiles(h.Config, h.App) // fails only for a pattern that is not well formed
		for _, file := range files {
			data, err := os.ReadFile(file)
			var content any
			if err == nil && json.Unmarshal(data, &content) == nil {
				privateIn(content, false, add)
			}
		}
		for _, setting := range home.Settings(h.Config, h.App) {
			for _, text := range texts(setting.Value) {
				credentials(text, add)
				if !slices.Contains(public, setting.Key) {
					add(text)
				}
			}
		}
	}
	// The longest come first, because one secret may be a part of another.
	slices.SortFunc(s.values, func(a, b []byte) int { return len(b) - len(a) })
	return s
}

// credentials adds the user and the password of an address that has them.
func credentials(address string, add func(string)) {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return
	}
	add(u.User.Username())
	if password, has := u.User.Password(); has {
		add(password)
	}
}

// privateIn adds the texts in a JSON document whose names begin with priv or contain _priv.
func privateIn(v any, private bool, add func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			privateIn(x, private || strings.HasPrefix(name, "priv") || strings.Contains(name, "_priv"), add)
		}
	case []any:
		for _, x := range v {
			privateIn(x, private, add)
		}
	case string:
		if private && !strings.HasPrefix(v, "tendermint/") {
			add(v)
		}
	}
}

// texts returns the texts of a setting. A number or a switch has none.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		if _, err := time.ParseDuration(v); err == nil {
			return nil // a duration is no text
		}
		return []string{v}
	case []string:
		return v
	}
	return nil
}
