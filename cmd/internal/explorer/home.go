package explorer

import (
	"net/http"
	"slices"

	"github.com/spdl/spdl/app/params"
)

// drawn is the number of rounds in the grid.
const drawn = 48

type homePage struct {
	Last                    *Point
	Accuracy, Loss, Epsilon spark
	Standings               []Standing // the first standings
	People, More            int        // number of all participants, and of those not shown
	Suspects                []Standing
	Alarms, MoreAlarms      int
	Tally                   *tally
	Reputations             []bar // of many
	Grid                    grid
	Rounds                  []Point
	Names                   map[uint32]string
	Budget                  float64
	Mechanism               string
	Unmeasured              string // the reason for which there is no accuracy
}

// home shows the training at a glance: curves, alarms, and the last rounds.
func (s *Server) home(r *http.Request) (content, error) {
	status, running, points, err := s.tail.now()
	if err != nil {
		return content{}, err
	}
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	points = slices.DeleteFunc(points, func(p Point) bool { return p.Epoch != status.Epoch })
	all = firstConcerns(all)
	b := homePage{Standings: all[:min(some, len(all))], People: len(all), More: max(0, len(all)-some),
		Names: map[uint32]string{}, Budget: running.Privacy.Epsilon, Mechanism: running.Privacy.Mechanism,
		Unmeasured: s.tail.whyUnmeasured()}
	for _, st := range all {
		b.Names[st.Participant] = st.Moniker
		if st.Alarm == Suspect {
			b.Alarms++
			b.Suspects = append(b.Suspects, st)
		}
	}
	b.Suspects = b.Suspects[:min(few, len(b.Suspects))]
	b.MoreAlarms = b.Alarms - len(b.Suspects)
	if b.More > 0 {
		b.Reputations = reputations(all)
	}
	if n := len(points); n > 0 {
		t := tallyOf(points[n-1], all)
		b.Tally = &t
	}
	for i := range points {
		if points[i].Accuracy != nil || b.Last == nil {
			b.Last = &points[i]
		}
	}
	b.Accuracy = sparkOf("accuracy", points, func(p Point) *float64 { return p.Accuracy })
	b.Loss = sparkOf("loss", points, func(p Point) *float64 { return p.Loss })
	b.Epsilon = sparkOf("epsilon", points, func(p Point) *float64 { return p.Epsilon })
	b.Grid = gridOf(points[max(0, len(points)-drawn):], b.Standings)
	b.Rounds = newestFirst(points, shown)
	return content{"home", "Training", b}, nil
}

// newestFirst returns the last n points, the newest first.
func newestFirst(points []Point, n int) []Point {
	out := slices.Clone(points[max(0, len(points)-n):])
	slices.Reverse(out)
	return out
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
