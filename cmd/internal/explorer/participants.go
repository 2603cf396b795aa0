package explorer

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

type participantsPage struct {
	Rows   []participantRow
	Wanted string // of ?q=
	Sort   string // of ?sort=
	Orders []order
	Pager  pager
	query.Membership
}

// participantRow is a participant's standing with its spend.
type participantRow struct {
	chainview.Standing
	Spend query.Spend
}

// Spent is the spent share of the budget in percent, or negative without a budget.
func (p participantRow) Spent() float64 {
	if p.Spend.Epsilon == nil || p.Spend.Budget <= 0 {
		return -1
	}
	return 100 * *p.Spend.Epsilon / p.Spend.Budget
}

// order is a way to sort participants. The default sorts them by urgency for an operator.
type order struct {
	Name, Label string
	by          func(a, b participantRow) int
}

var orders = []order{
	{"", "trouble", nil},
	{"number", "number", func(a, b participantRow) int { return cmp.Compare(a.Participant, b.Participant) }},
	{"reputation", "reputation", func(a, b participantRow) int { return cmp.Compare(a.Reputation, b.Reputation) }},
	{"spent", "epsilon", func(a, b participantRow) int { return cmp.Compare(b.Spent(), a.Spent()) }},
	{"led", "rounds led", func(a, b participantRow) int { return cmp.Compare(b.Led, a.Led) }},
}

// participants lists all participants, 100 a page, or those that match ?q=, in the order of ?sort=.
func (s *Server) participants(r *http.Request) (content, error) {
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	spends, err := known[[]query.Spend](r.Context(), s.source, "/privacy")
	if err != nil {
		return content{}, err
	}
	b := participantsPage{Wanted: short(r.URL.Query().Get("q"), 100), Sort: r.URL.Query().Get("sort"), Orders: orders}
	if b.Membership, err = known[query.Membership](r.Context(), s.source, "/membership"); err != nil {
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
	var rows []participantRow
	for _, st := range matching(firstConcerns(all), people, r.URL.Query().Get("q")) {
		rows = append(rows, participantRow{Standing: st, Spend: by[st.Participant]})
	}
	i := slices.IndexFunc(orders, func(o order) bool { return o.Name == b.Sort })
	if i < 0 {
		return content{}, fmt.Errorf("%w: order %q, want number, reputation, spent or led", errBad, short(b.Sort, 40))
	}
	if orders[i].by != nil {
		slices.SortStableFunc(rows, orders[i].by)
	}
	if b.Rows, b.Pager, err = pageOf(r, rows); err != nil {
		return content{}, err
	}
	return content{"participants", "Participants", b}, nil
}

// firstConcerns sorts standings by urgency for an operator: suspects, those that differ, those on watch,
// each by offences, opposed gradients, rejections and absences, then all other participants by
// number.
func firstConcerns(all []chainview.Standing) []chainview.Standing {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b chainview.Standing) int {
		if a.Alarm != b.Alarm || a.Alarm == chainview.OK {
			return cmp.Compare(chainview.Rank(b.Alarm), chainview.Rank(a.Alarm))
		}
		return cmp.Or(cmp.Compare(b.Offences, a.Offences), cmp.Compare(b.Opposed, a.Opposed),
			cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Rounds-b.Included, a.Rounds-a.Included))
	})
	return all
}

// matching returns the standings of participants whose number equals the text, or whose name,
// address or id contains it.
func matching(all []chainview.Standing, people []app.Participant, text string) []chainview.Standing {
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
	return slices.DeleteFunc(slices.Clone(all), func(s chainview.Standing) bool { return !at[s.Participant] })
}
