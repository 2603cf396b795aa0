package explorer

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// The max numbers of rows: of participants, gradients or transactions on a page, of participants in
// a short list, and of names in a sentence.
const perPage, some, few = 100, 20, 10

// A pager has the links between the pages of a list.
type pager struct {
	Of, From, Until int // rows; From is the first one, from 1 on
	Page, Pages     int
	path, search    string
}

// pageOf returns the rows of the page named by ?page=, counted from 1, or of the last page if there
// are fewer.
func pageOf[T any](r *http.Request, rows []T) ([]T, pager, error) {
	p := pager{Of: len(rows), Page: 1, Pages: max(1, (len(rows)+perPage-1)/perPage), path: r.URL.Path,
		search: r.URL.Query().Get("q")}
	if q := r.URL.Query().Get("page"); q != "" {
		x, err := number("page", q)
		if err != nil {
			return nil, p, err
		}
		p.Page = int(min(max(1, x), uint64(p.Pages)))
	}
	first := (p.Page - 1) * perPage
	rows = rows[first:min(first+perPage, len(rows))]
	p.From, p.Until = first+1, first+len(rows)
	return rows, p, nil
}

// Before and Next are the addresses of the previous and the next page, "" if there is none.
func (p pager) Before() string { return p.address(p.Page - 1) }
func (p pager) Next() string   { return p.address(p.Page + 1) }

func (p pager) address(page int) string {
	if page < 1 || page > p.Pages {
		return ""
	}
	q := url.Values{"page": {strconv.Itoa(page)}}
	if p.search != "" {
		q.Set("q", p.search)
	}
	return p.path + "?" + q.Encode()
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

// firstFates sorts verdicts by urgency for an auditor, and verdicts of one kind by number.
func firstFates(all []Verdict) []Verdict {
	rank := func(v Verdict) int {
		switch {
		case v.Opposed:
			return 0
		case v.Fate == Refused:
			return 1
		case v.Passed:
			return 2
		case v.Fate == Absent:
			return 3
		case v.Fate == LeftOut:
			return 4
		}
		return 5
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Verdict) int { return rank(a) - rank(b) })
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

// A tally counts the fates of the participants in one round.
type tally struct {
	Epoch, Round                                uint64
	Selected, LeftOut, Opposed, Refused, Absent int
}

// tallyOf counts a round's fates. Opposed gradients are also counted as selected or left out.
func tallyOf(p Point, all []Standing) tally {
	t := tally{p.Epoch, p.Round, p.Included - len(p.LeftOut), len(p.LeftOut), len(p.Opposed), len(p.Refused),
		-len(p.Refused)}
	in := map[uint32]bool{}
	for _, who := range p.included {
		in[who] = true
	}
	for _, s := range all {
		if s.Active && s.Rounds > 0 && !in[s.Participant] {
			t.Absent++
		}
	}
	t.Absent = max(0, t.Absent)
	return t
}

// A bar is a range of reputations and the number of participants in it.
type bar struct {
	Label string
	Count int
	Share float64 // of all active participants
}

// reputations returns the distribution of the active participants' reputations.
func reputations(all []Standing) []bar {
	bars := []bar{{Label: "0"}, {Label: "below 0.25"}, {Label: "from 0.25"}, {Label: "from 0.5"}, {Label: "from 0.75"},
		{Label: "1"}}
	parts := int64(len(bars) - 2)
	n := 0
	for _, s := range all {
		if !s.Active {
			continue
		}
		n++
		i := 0
		switch {
		case s.Reputation >= params.One:
			i = len(bars) - 1
		case s.Reputation > 0:
			i = 1 + int(s.Reputation*parts/params.One)
		}
		bars[i].Count++
	}
	for i := range bars {
		bars[i].Share = float64(bars[i].Count) / float64(max(1, n))
	}
	return bars
}
