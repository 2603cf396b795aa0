package explorer

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// participants lists all participants, 100 a page, or those that match ?q=.
func (s *Server) participants(r *http.Request) (content, error) {
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	spends, err := known[[]query.Spend](r.Context(), s.source, "/privacy")
	if err != nil {
		return content{}, err
	}
	members, err := known[query.Membership](r.Context(), s.source, "/membership")
	if err != nil {
		return content{}, err
	}
	by := map[uint32]query.Spend{}
	for _, x := range spends {
		by[x.Participant] = x
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	wanted := r.URL.Query().Get("q")
	rows, at, err := pageOf(r, matching(firstConcerns(all), people, wanted))
	if err != nil {
		return content{}, err
	}
	return content{"participants", "Participants", struct {
		Standings []Standing
		Spends    map[uint32]query.Spend
		Wanted    string
		Pager     pager
		query.Membership
	}{rows, by, short(wanted, 100), at, members}}, nil
}

// firstConcerns sorts standings by urgency for an operator: suspects, then participants on watch,
// each by offences, opposed gradients, rejections and absences, then all other participants by
// number.
func firstConcerns(all []Standing) []Standing {
	rank := map[string]int{Suspect: 0, Watch: 1, OK: 2}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Standing) int {
		if a.Alarm != b.Alarm || a.Alarm == OK {
			return cmp.Compare(rank[a.Alarm], rank[b.Alarm])
		}
		return cmp.Or(cmp.Compare(b.Offences, a.Offences), cmp.Compare(b.Opposed, a.Opposed),
			cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Rounds-b.Included, a.Rounds-a.Included))
	})
	return all
}

// matching returns the standings of participants whose number equals the text, or whose name,
// address or id contains it.
func matching(all []Standing, people []app.Participant, text string) []Standing {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return all
	}
	at := map[uint32]bool{}
	for _, p := range people {
		names := strings.ToLower(p.Moniker + "\x00" + p.Address + "\x00" + hex.EncodeToString(p.Id) + "\x00" +
			addressOf(p.ConsensusKey))
		at[p.Index] = strconv.FormatUint(uint64(p.Index), 10) == text || strings.Contains(names, text)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Standing) bool { return !at[s.Participant] })
}
