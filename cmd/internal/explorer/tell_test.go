package explorer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestALostNodeShowsTheLastKnownPage: while the node does not answer, a page that was shown before
// is shown again and says so, and the others say that they are not known.
func TestALostNodeShowsTheLastKnownPage(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{})
	require.Equal(t, http.StatusOK, get(s, "/participants").Code)
	require.NotContains(t, get(s, "/participants").Body.String(), "Lost.")
	events, end := s.tail.read()
	defer end()
	<-events
	f.set(func() { f.down = true })
	s.tail.lost(s.tail.look(t.Context()))
	require.Contains(t, string(<-events), `"lost":true`)
	w := get(s, "/participants")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "Lost.")
	require.Contains(t, w.Body.String(), "known at height 7")
	require.Contains(t, w.Body.String(), "Standing of the participants")
	require.Equal(t, http.StatusBadGateway, get(s, "/evidence").Code)
	f.set(func() { f.down = false })
	s.tail.lost(s.tail.look(t.Context()))
	require.Contains(t, string(<-events), `"lost":false`)
	require.NotContains(t, get(s, "/participants").Body.String(), "Lost.")
}

// TestRoundsShowWhatIsKnown: the list has the epsilon of the history and the time of each block.
func TestRoundsShowWhatIsKnown(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	s.tail.mu.Lock()
	for i := range s.tail.points {
		x := 0.25 * float64(i)
		s.tail.points[i].Epsilon = &x
	}
	s.tail.mu.Unlock()
	page := get(s, "/rounds").Body.String()
	row := between(t, page, `<a href="/round/0/3">3</a>`, "</tr>")
	require.Contains(t, row, `<td data-l="epsilon" class="n">0.750</td>`)
	require.Contains(t, row, `<small class="clock">00:00:05 UTC</small>`, "closed at height 5")
	require.Contains(t, row, "days ago</time>")
}

// between returns the part of a text from one text to the next other one.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, text, found := strings.Cut(text, from)
	require.True(t, found, from)
	text, _, found = strings.Cut(text, to)
	require.True(t, found, to)
	return text
}

// TestUptime: who did not sign is marked, and a commit that cannot change is asked for once.
func TestUptime(t *testing.T) {
	f := newFake(6, "moniker")
	s := over(t, f, Options{})
	page := get(s, "/validators").Body.String()
	require.Equal(t, 3, strings.Count(page, `class="n">100 %</td><td data-l="late" class="n zero">0</td>`+
		`<td data-l="absent" class="n zero">0</td>`))
	require.Equal(t, 1, strings.Count(page, `<td data-l="late" class="n zero">0</td><td data-l="absent" class="n">4</td>`))
	require.Equal(t, 1, strings.Count(page, `<span class="tag watch">`))
	require.Contains(t, page, `<span class="tag watch">0 %</span>`)
	require.Contains(t, page, "25.0 % <small>(10)</small>")
	asked := f.asked["commit"]
	s.source.looks.Add(1)
	get(s, "/validators")
	require.Equal(t, asked, f.asked["commit"])
}

// TestLateIsNotAbsent: up to three missing votes in a row came late, four are an absence, and nobody
// is absent before it was a validator. Only absence counts against the uptime.
func TestLateIsNotAbsent(t *testing.T) {
	votes := func(text string) (v []bool) {
		for _, x := range text {
			v = append(v, x == '1')
		}
		return v
	}
	for _, c := range []struct {
		text                 string
		new                  bool
		signed, late, absent int
		up                   int
	}{
		{"1111111111", false, 10, 0, 0, 100},
		{"1011001110", false, 6, 4, 0, 100},
		{"1000111111", false, 7, 3, 0, 100},
		{"1100001111", false, 6, 0, 4, 60},
		{"0000001111", false, 4, 0, 6, 40},
		{"0000001111", true, 4, 0, 0, 100},
		{"0000010000", true, 1, 0, 4, 20},
	} {
		l := validatorLine{votes: votes(c.text), New: c.new}
		l.count()
		require.Equal(t, []int{c.signed, c.late, c.absent, c.up}, []int{l.Signed, l.Late, l.Absent, l.Up()}, c.text)
		require.Equal(t, c.up < 80, l.Few(), c.text)
	}
	require.False(t, (&validatorLine{New: true}).Few(), "nothing is known of it")
}

// TestADifferenceIsNotForgotten: who differed beyond the window of a standing is watched.
func TestADifferenceIsNotForgotten(t *testing.T) {
	people := []app.Participant{{Index: 0, Active: true, Reputation: 1}, {Index: 1, Active: true, Reputation: 1}}
	points := make([]Point, 200)
	for t := range points {
		points[t] = Point{Round: uint64(t), included: []uint32{0, 1}}
		if t >= 40 && t < 80 {
			points[t].Opposed = []uint32{1}
		}
	}
	all := standings(people, nil, points, 0)
	require.Equal(t, chainview.OK, all[0].Alarm)
	require.Equal(t, chainview.Watch, all[1].Alarm)
	require.Equal(t, []string{"differed until round 99"}, all[1].Reasons, "30 of the rounds 50 to 99 are opposed")
	require.Equal(t, recent, all[1].Rounds)
	require.Equal(t, chainview.Differs, standings(people, nil, points[:90], 0)[1].Alarm)
}

// TestAFailedLeaderIsWatched: the chain bars it from elections for longer than a standing's
// window, in which it then fails in no round. It led wrongly 6 times of 167 and stood as "nothing
// against it".
func TestAFailedLeaderIsWatched(t *testing.T) {
	people := []app.Participant{{Index: 0, Active: true, Reputation: 1}, {Index: 1, Active: true, Reputation: 1}}
	points := make([]Point, 100)
	for t := range points {
		points[t] = Point{Round: uint64(t), included: []uint32{0, 1}}
	}
	for count, alarm := range map[uint32]string{0: chainview.OK, 1: chainview.OK, 2: chainview.Watch, 3: chainview.Watch,
		4: chainview.Watch, 10: chainview.Watch} {
		people[1].PassedOver = count
		all := standings(people, nil, points, 0)
		require.Equal(t, chainview.OK, all[0].Alarm)
		require.Equal(t, alarm, all[1].Alarm, count)
		require.Equal(t, alarm == chainview.OK, len(all[1].Reasons) == 0)
	}
}

// TestNotYetAMember: a member that joined later is not absent from the rounds before.
func TestNotYetAMember(t *testing.T) {
	f := newFake(6, "x")
	r := f.record(2)
	r.Contributions = r.Contributions[:2]
	people := f.people()
	people[2].Joined = 4
	all := verdicts(&r, people, nil, nil)
	require.Equal(t, NotYet, all[2].Fate)
	require.Equal(t, Absent, all[3].Fate)
	r.Height = r.Opened + 2
	require.Contains(t, verdicts(&r, people, nil, nil)[3].Why, "3 blocks instead of 1")
}

// TestLinksToTransactions: a round's gradients and its aggregate lead to their transactions, whose
// hashes the node's index has.
func TestLinksToTransactions(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	require.Contains(t, get(s, "/round/0/4").Body.String(), `href="/round/0/4/gradient/3"`)
	w := get(s, "/round/0/4/gradient/3")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "/tx/"+strings.Repeat("00", 31)+"67", w.Header().Get("Location"))
	require.Equal(t, "/tx/"+strings.Repeat("00", 31)+"61", get(s, "/round/0/4/aggregate").Header().Get("Location"))
	require.Equal(t, http.StatusNotFound, get(s, "/round/0/4/gradient/2").Code)
	require.Equal(t, http.StatusNotFound, get(s, "/round/0/9/gradient/3").Code)
	require.Equal(t, http.StatusBadRequest, get(s, "/round/0/4/gradient/x").Code)
}
