package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
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

// governance shows the proposals, and the planned and past upgrades.
func (s *Server) governance(r *http.Request) (content, error) {
	members, err := known[query.Membership](r.Context(), s.source, "/membership")
	if err != nil {
		return content{}, err
	}
	upgrade, err := known[query.UpgradeState](r.Context(), s.source, "/upgrade")
	if err != nil && !absent(err) {
		return content{}, err
	}
	return content{"governance", "Governance", struct {
		query.Membership
		Upgrade query.UpgradeState
	}{members, upgrade}}, nil
}

// evidence shows every proven offence, newest first.
func (s *Server) evidence(r *http.Request) (content, error) {
	offences, err := known[[]app.Offence](r.Context(), s.source, "/evidence")
	if err != nil {
		return content{}, err
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	type line struct {
		app.Offence
		Who *app.Participant
	}
	b := struct {
		Lines []line
		Pager pager
	}{}
	for _, o := range slices.Backward(offences) {
		l := line{Offence: o}
		if int64(o.Participant) < int64(len(people)) {
			l.Who = &people[o.Participant]
		}
		b.Lines = append(b.Lines, l)
	}
	if b.Lines, b.Pager, err = pageOf(r, b.Lines); err != nil {
		return content{}, err
	}
	return content{"evidence", "Evidence", b}, nil
}
