package pages

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

type participantPage struct {
	Who               app.Participant
	Standing          chainview.Standing
	Spend             query.Spend
	Offences          []app.Offence
	Spans             []chainview.Span
	Rounds            []chainview.Result
	Led               int // in these rounds
	Active            int // the number of active participants
	Reputation, Spent chart
	Verify            string // the command that verifies it
}

func (b participantPage) tables() []table { return []table{b.Reputation.table(), b.Spent.table()} }

// Share is the spent share of the budget, or negative without a budget.
func (b participantPage) Share() float64 { return shareOf(b.Spend) }

func shareOf(s query.Spend) float64 {
	if s.Epsilon == nil || s.Budget <= 0 {
		return -1
	}
	return *s.Epsilon / s.Budget
}

// participant shows one participant: its results in the last rounds, its spent privacy and its offences.
func participant(r *Request) Content {
	index := r.Number("participant", r.PathValue("index"))
	who, results := r.Results(index)
	all, offences := r.Standings(), r.Offences()
	if r.Err() == nil && index >= uint64(len(all)) { // the node may answer for another chain between the queries
		r.Fail(fmt.Errorf("%w: participant %d of %d", chainview.ErrNotFound, index, len(all)))
	}
	b := participantPage{Who: who, Rounds: results,
		Spend: chainview.Ask[query.Spend](r.Reader, "/privacy/"+strconv.FormatUint(index, 10)),
		Offences: slices.DeleteFunc(slices.Clone(offences),
			func(o app.Offence) bool { return uint64(o.Participant) != index })}
	if r.Err() != nil {
		return Content{}
	}
	b.Standing, b.Active = all[index], r.Course().Status.Participants
	b.Verify, _, _ = r.verifying(0, fmt.Sprintf("participant %d", index))
	newest := slices.Clone(results)
	slices.Reverse(newest)
	b.Spans = chainview.Spans(newest)
	b.draw(fmt.Sprintf("/participant/%d", index))
	return Content{"participant", fmt.Sprintf("Participant %d", index), b}
}

// draw draws the results, and counts the rounds that the participant led.
func (b *participantPage) draw(page string) {
	points := make([]chainview.Point, 0, len(b.Rounds))
	reputation, spent := map[uint64]*float64{}, map[uint64]*float64{}
	for _, f := range b.Rounds {
		points = append(points, f.Point)
		if f.Verdict.Reputation != nil {
			x := float64(*f.Verdict.Reputation) / params.One
			reputation[f.Round] = &x
		}
		if f.Epsilon != nil && *f.Epsilon > 0 {
			spent[f.Round] = f.Epsilon
		}
		if f.Leader == b.Who.Index {
			b.Led++
		}
	}
	b.Reputation = chartOf(page, "reputation", "Reputation", "", 1, points,
		func(p chainview.Point) *float64 { return reputation[p.Round] }, nil)
	b.Spent = chartOf(page, "epsilon", "Epsilon spent", spentUnit, b.Spend.Budget, points,
		func(p chainview.Point) *float64 { return spent[p.Round] }, nil)
}

type participantsPage struct {
	Rows   []participantRow
	Wanted string // of ?q=
	Pager  pager
	query.Membership
}

// participantRow is a participant's standing with its spend.
type participantRow struct {
	chainview.Standing
	Spend query.Spend
}

// Spent is the spent share of the budget in percent, or negative without a budget.
func (p participantRow) Spent() float64 { return 100 * shareOf(p.Spend) }

// participants lists all participants, 100 a page, or those that match ?q=, those with trouble first.
func participants(r *Request) Content {
	b := participantsPage{Wanted: Short(r.Value("q"), 100),
		Membership: chainview.Ask[query.Membership](r.Reader, "/membership")}
	by := map[uint32]query.Spend{}
	for _, x := range chainview.Ask[[]query.Spend](r.Reader, "/privacy") {
		by[x.Participant] = x
	}
	var rows []participantRow
	for _, st := range matching(firstConcerns(r.Standings()), r.Participants(), r.Value("q")) {
		rows = append(rows, participantRow{Standing: st, Spend: by[st.Participant]})
	}
	b.Rows, b.Pager = pageOf(r, rows)
	return Content{"participants", "Participants", b}
}

// firstConcerns sorts standings by urgency for an operator: suspects, those that differ, those on watch, each by
// offences, opposed gradients, rejections and absences, then all other participants by number.
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
			chainview.AddressOf(p.ConsensusKey))
		at[p.Index] = strconv.FormatUint(uint64(p.Index), 10) == text || strings.Contains(names, text)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s chainview.Standing) bool { return !at[s.Participant] })
}
