package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// setting is one parameter of the chain, by its path in genesis.
type setting struct{ Name, Value string }

// paramsPage shows the parameters that genesis or the last epoch set.
func (s *Server) paramsPage(r *http.Request) (content, error) {
	p, err := known[params.Params](r.Context(), s.source, "/params")
	if err != nil {
		return content{}, err
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return content{}, err
	}
	var fields any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return content{}, err
	}
	return content{"params", "Parameters", struct{ Settings []setting }{settingsOf("", fields)}}, nil
}

// settingsOf flattens a JSON object into settings, by name. A list of more than eight numbers is
// shortened.
func settingsOf(name string, value any) (out []setting) {
	switch x := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for key := range x {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			out = append(out, settingsOf(strings.TrimPrefix(name+"."+key, "."), x[key])...)
		}
		return out
	case []any:
		if len(x) > 8 {
			return []setting{{name, fmt.Sprintf("%d values, from %v to %v", len(x), x[0], x[len(x)-1])}}
		}
	case nil:
		return nil
	}
	return []setting{{name, short(fmt.Sprint(value), 300)}}
}
