package plan

import "fmt"

// TableForecast says what a model of a table with two classes can be expected to reach. How well the columns tell
// the classes apart is not public before a training, so it is in parts of what logistic regression without
// privacy, on all rows, gains over guessing the rate.
type TableForecast struct {
	Rate  float64 `json:"rate"`       // typical rate of the second class
	Guess float64 `json:"guess"`      // accuracy of the class that is more frequent
	Brier float64 `json:"rate_brier"` // Brier score of the rate as the probability
	// Kept and Attacked are the least parts of that gain which a training kept, without attack and with f
	// attackers. They are null if no training had so much noise, Attacked also if f is 0.
	Kept     *Gain `json:"kept"`
	Attacked *Gain `json:"kept_attacked"`
}

// Gain is a part of a gain: in AUC over 0.5, and in Brier score below the rate's. Below 0 a model is worse than
// the rate.
type Gain struct {
	AUC   float64 `json:"auc"`
	Brier float64 `json:"brier"`
}

// measuredGains has the least parts that the trainings of docs/TABLES.md kept, by the noise in the mean of a
// participant's gradients, in clip norms. TestTableForecast compares them with that page.
var measuredGains = []struct {
	noise           float64
	clean, attacked Gain
}{
	{0.03, Gain{0.9, 0.65}, Gain{0.7, 0.35}},
	{0.1, Gain{0.75, 0.5}, Gain{0.5, -0.35}},
	{0.3, Gain{0.35, 0.1}, Gain{0, -1.25}},
	{0.6, Gain{0.15, 0}, Gain{0, -1.25}},
}

// forecast returns the accuracy of a table's model with the given noise in the mean of a participant's gradients.
func (in Input) forecast(noise float64) Accuracy {
	t := &TableForecast{Rate: in.Rate, Guess: max(in.Rate, 1-in.Rate), Brier: in.Rate * (1 - in.Rate)}
	for _, m := range measuredGains {
		if noise > m.noise {
			continue
		}
		if t.Kept = &m.clean; in.Byzantine > 0 {
			t.Attacked = &m.attacked
		}
		return Accuracy{Table: t, Source: fmt.Sprintf("the least of the seven tables of docs/TABLES.md (N = 4 and 10) with "+
			"noise to gradient up to %v; a table that is harder than they are may keep less", m.noise)}
	}
	return Accuracy{Table: t, Source: fmt.Sprintf("noise to gradient is above %v: no table kept anything for certain",
		measuredGains[len(measuredGains)-1].noise)}
}

// cells formats a gain for two columns of a table.
func (g *Gain) cells() string {
	switch {
	case g == nil:
		return "nothing\tfor certain"
	case g.Brier < 0:
		return fmt.Sprintf("%v\tworse than guessing", g.AUC)
	}
	return fmt.Sprintf("%v\t%v", g.AUC, g.Brier)
}
