package chainview

// A Result is the outcome of one round for one participant.
type Result struct {
	Point
	Verdict Verdict
	Epsilon *float64
	Turn    string // the reason why its turn to lead failed, if it failed
}

// A Span is a table row for consecutive rounds with the same result.
type Span struct {
	Newest, Oldest Result
	Count, Led     int
	Lost           int64    // change of the reputation, parts per million
	Known          bool     // the change is known
	Weight         *float64 // mean of the weights; nil if they are unknown
	weights        Tally
}

// Spans returns the rows for results, newest first. Consecutive results that differ only in the round share a row.
func Spans(results []Result) (out []Span) {
	for _, r := range results {
		n, v := len(out), r.Verdict
		if n == 0 || !alike(out[n-1].Oldest.Verdict, v) {
			out, n = append(out, Span{Newest: r}), n+1
		}
		s := &out[n-1]
		if s.Oldest, s.Count = r, s.Count+1; r.Leader == v.Participant {
			s.Led++
		}
		if v.Change != nil {
			s.Lost, s.Known = s.Lost+*v.Change, true
		}
		if v.Weight != nil {
			s.weights.weigh(*v.Weight)
			s.Weight = s.weights.MeanWeight()
		}
	}
	return out
}

func alike(a, b Verdict) bool {
	return a.Fate == b.Fate && a.Opposed == b.Opposed && a.Passed == b.Passed && a.Offence == b.Offence &&
		a.Convicted == b.Convicted
}
