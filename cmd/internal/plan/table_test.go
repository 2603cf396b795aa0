package plan

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/privacy/accountant"
)

// kept is a training of docs/TABLES.md: its noise to gradient, and what it kept of the gain.
type kept struct {
	table    string
	attacked bool
	noise    float64
	gain     Gain
}

// number is the number at the start of a cell, as in "0.966 ± 0.015".
func number(t *testing.T, cell string) float64 {
	first, _, _ := strings.Cut(strings.Trim(cell, " *"), " ")
	x, err := strconv.ParseFloat(strings.TrimSuffix(first, ","), 64)
	require.NoError(t, err, cell)
	return x
}

// measuredKept reads every training of docs/TABLES.md in a table of its settings or of "Too few rows".
func measuredKept(t *testing.T) (all []kept) {
	text, err := os.ReadFile("../../../docs/TABLES.md")
	require.NoError(t, err)
	// Parameters, and training rows or groups, of each table.
	size := map[string][2]float64{"breast-cancer": {31, 470}, "pima": {11, 623}, "credit": {26, 3611},
		"flchain": {10, 6285}, "nafld-5": {17, 11523}, "rotterdam": {17, 2407}, "churn": {19, 3992}}
	once := map[string]float64{} // noise multiplier of a single round
	for _, e := range []string{"0.1", "0.25", "0.5", "1", "2", "4"} {
		epsilon, err := strconv.ParseFloat(e, 64)
		require.NoError(t, err)
		once[e], err = accountant.NoiseMultiplier(accountant.Analytic, 1, 1, epsilon, 1e-6)
		require.NoError(t, err)
	}
	rate, open := map[string]Gain{}, map[string]Gain{}
	add := func(name, epsilon string, attacked bool, rows, auc, brier float64) {
		r, o := rate[name], open[name]
		all = append(all, kept{name, attacked, math.Sqrt(size[name][0]) * once[epsilon] / rows,
			Gain{(auc - 0.5) / (o.AUC - 0.5), (r.Brier - brier) / (r.Brier - o.Brier)}})
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		cell := strings.Split(line, "|")
		for i := range cell {
			cell[i] = strings.TrimSpace(cell[i])
		}
		switch name := ""; {
		case len(cell) < 2 || size[cell[1]] == [2]float64{}:
		case len(cell) == 10 && cell[4] == "rate":
			rate[cell[1]] = Gain{0.5, number(t, cell[7])}
		case len(cell) == 10 && cell[4] == "not private":
			open[cell[1]] = Gain{number(t, cell[5]), number(t, cell[7])}
		case len(cell) == 10 && strings.HasPrefix(cell[4], "SPDL"):
			name = cell[1]
			add(name, cell[3], strings.Contains(cell[4], "attacks"), size[name][1]/number(t, cell[2]), number(t, cell[5]),
				number(t, cell[7]))
		case len(cell) == 9: // too few rows
			for i, attacked := range []bool{true, false} {
				measures := strings.Split(cell[6+i], ", ")
				require.Len(t, measures, 3, line)
				add(cell[1], cell[4], attacked, number(t, cell[3]), number(t, measures[0]), number(t, measures[2]))
			}
		}
	}
	return all
}

// TestTableForecast: no training of docs/TABLES.md kept less than the forecast says. It logs how much less each
// table kept than the others alone would have promised: the error of the forecast on a table that it has not seen.
func TestTableForecast(t *testing.T) {
	all := measuredKept(t)
	require.Greater(t, len(all), 180)
	in := Input{Rate: 0.35, Byzantine: 1}
	for _, k := range all {
		a := in.forecast(k.noise).Table
		if k.noise > measuredGains[len(measuredGains)-1].noise {
			require.Nil(t, a.Kept)
			continue
		}
		least := *a.Kept
		if k.attacked {
			least = *a.Attacked
		}
		assert.GreaterOrEqual(t, k.gain.AUC, least.AUC, "%+v", k)
		assert.GreaterOrEqual(t, k.gain.Brier, least.Brier, "%+v", k)
	}
	for _, name := range []string{"breast-cancer", "pima", "credit", "flchain", "nafld-5", "rotterdam", "churn"} {
		var short [2]Gain // without and with attackers
		below := 0.0
		for _, m := range measuredGains {
			for i := range short {
				mine, others := Gain{1, 1}, Gain{1, 1}
				for _, k := range all {
					if k.noise <= below || k.noise > m.noise || k.attacked != (i == 1) {
						continue
					}
					to := &others
					if k.table == name {
						to = &mine
					}
					to.AUC, to.Brier = min(to.AUC, k.gain.AUC), min(to.Brier, k.gain.Brier)
				}
				short[i].AUC, short[i].Brier = max(short[i].AUC, others.AUC-mine.AUC), max(short[i].Brier, others.Brier-mine.Brier)
			}
			below = m.noise
		}
		t.Logf("%-13s kept less than the others' least by %.2f (AUC) and %.2f (Brier), attacked by %.2f and %.2f", name,
			short[0].AUC, short[0].Brier, short[1].AUC, short[1].Brier)
	}
}

// TestFewerRoundsThanMeasured: of a training that ends before the preset's nothing is forecast, and the text says so.
func TestFewerRoundsThanMeasured(t *testing.T) {
	in := Input{Rate: 0.35, Rounds: 23, Full: 24}
	require.Nil(t, in.forecast(0.01).Table.Kept)
	p := Plan{Guarantee: true, Rounds: in.Rounds, Full: in.Full, Accuracy: in.forecast(0.01), MeanNoise: 0.01}
	require.Contains(t, in.verdict(p), "open: 23 rounds end before the 24")
	var text strings.Builder
	p.choicesText(&text, *p.Accuracy.Table)
	require.Contains(t, text.String(), "What 23 rounds keep of the gain over it was not measured.")
	in.Rounds = 24
	require.NotNil(t, in.forecast(0.01).Table.Kept)
}

// TestForecastText: a plan of a table says what is kept at several epsilons and what an attacker can bet, and gives a
// verdict. Without attackers nothing is said about them.
func TestForecastText(t *testing.T) {
	in := with(defaults, func(in *Input) {
		in.Model = model.Spec{Inputs: 17, Classes: 2, NoBias: true, Logistic: true}
		in.Rate, in.Momentum, in.Rounds, in.SamplingRate = 0.35, 1, 24, 1
		in.Samples, in.Accountant, in.NoiseMultiplier, in.Epsilon = 600, accountant.Analytic, 0, 1
		in.Unit, in.Rule = "example", "cge"
	})
	text := func(in Input) string {
		var b bytes.Buffer
		made(t, in).Text(&b)
		return b.String()
	}
	shown := text(in)
	for _, want := range []string{"one row, of the 600 of each",
		"Guessing the typical rate 0.35 has accuracy 0.650 and Brier score 0.227", "where 1 attack: AUC",
		"verdict: worth it for members whose own model has less than 0.9 of that gain in AUC",
		"Where f = 1 attack, 0.7 may be all that is kept", "24; epsilon is that of all together"} {
		require.Contains(t, shown, want)
	}
	require.Regexp(t, `(?m)^  0.5 +52.5 of 100 times +0.0\d+ +0.75 +0.5 +0.5 +worse than guessing$`, shown)
	require.Regexp(t, `(?m)^  4 +66.3 of 100 times +0.00\d+ +0.9 +0.65 +0.7 +0.35$`, shown)
	grouped := with(in, func(in *Input) { in.Unit = "group:patient_id" })
	require.Contains(t, text(grouped), "one patient_id with all its rows")
	in.Byzantine = 0
	require.NotContains(t, strings.Split(text(in), "consortium")[0], " attack:")
	few := made(t, with(in, func(in *Input) { in.Samples, in.Epsilon = 50, 0.5 }))
	require.Contains(t, few.Verdict, "not worth it: noise of 0.66 clip norms in the mean of all rounds may leave nothing")
	require.Contains(t, few.Verdict, " examples a participant, or epsilon 4")
	more, _, _ := strings.Cut(strings.SplitAfter(few.Verdict, "take ")[1], " ")
	n, err := strconv.Atoi(more)
	require.NoError(t, err)
	just := made(t, with(in, func(in *Input) { in.Samples, in.Epsilon = n, 0.5 }))
	require.GreaterOrEqual(t, just.Accuracy.Table.Kept.AUC, 0.5)
	require.Contains(t, just.Verdict, "worth it for members")
	require.Less(t, in.forecast(1.01*enough).Table.Kept.AUC, 0.5)
	require.Contains(t, made(t, defaults).Verdict, "open: no accuracy was measured")
	noisy := made(t, with(defaults, func(in *Input) { in.NoiseMultiplier = 400 }))
	require.Contains(t, noisy.Verdict, "not worth it: noise of 1.2 clip norms in the mean of all rounds, above 0.6,")
	require.Contains(t, strings.Join(noisy.Warnings, ""), "it drowns the gradient")
	dear := made(t, with(defaults, func(in *Input) { in.NoiseMultiplier = 400 * 0.9 * drowning / noisy.MeanNoise }))
	require.Contains(t, dear.Verdict, "open: no accuracy was measured")
	require.Contains(t, made(t, study(Lemma1, 1)).Verdict, "none: what lemma1 calls epsilon is no guarantee")
}

// TestNoiseOfAllRounds: at one epsilon the noise of all rounds, and with it the verdict, is the same for any number of
// rounds, as the accuracy of docs/PRIVACY.md is. What attackers hide in grows with their number.
func TestNoiseOfAllRounds(t *testing.T) {
	of := func(rounds int, epsilon float64) Plan {
		return made(t, with(defaults, func(in *Input) {
			in.Participants, in.Byzantine, in.Samples, in.Rule, in.SamplingRate, in.Momentum = 10, 3, 5000, "cge", 1, 0
			in.Model, in.Accountant, in.Rounds, in.NoiseMultiplier, in.Epsilon = strokes, GDP, rounds, 0, epsilon
		}))
	}
	few, many := of(5, 0.05), of(80, 0.05)
	require.InDelta(t, 0.554, many.MeanNoise, 0.001)
	require.InEpsilon(t, few.MeanNoise, many.MeanNoise, 0.002)
	require.InEpsilon(t, 4*few.NoiseToGradient, many.NoiseToGradient, 0.002)
	require.Greater(t, many.NoiseToGradient, 4.0)
	require.Equal(t, few.Verdict, many.Verdict)
	require.Contains(t, many.Verdict, "open: ")
	require.Contains(t, of(5, 0.02).Verdict, "noise of 1.3 clip norms in the mean of all rounds, above 0.6, drowns")
	require.Equal(t, accountant.Analytic, few.Accountant)
	require.InEpsilon(t, math.Sqrt(5)/few.NoiseMultiplier, *few.Mu, 1e-12)
	require.Nil(t, made(t, defaults).Mu, "rounds sample")
}

// TestDoubts: parameters whose verdict is against them have it as a warning, others have none, and those of which
// there is no plan say why.
func TestDoubts(t *testing.T) {
	p, err := preset.New("default", 4)
	require.NoError(t, err)
	require.Empty(t, Doubts(p, 4))
	p.Privacy.NoiseMultiplier *= 200
	require.Equal(t, []string{"spdl plan: not worth it: noise of 1.2 clip norms in the mean of all rounds, above 0.6, " +
		"drowns the gradient"}, Doubts(p, 4))
	require.Contains(t, Doubts(p, 2)[0], "spdl plan has no verdict: plan: bad input: 1 Byzantine of 2 participants")
	p.Privacy.Mechanism = params.MechanismNone
	require.Empty(t, Doubts(p, 4))
}

// TestPublic: all fields of a table, of privacy and of the training are listed, but the columns of the ledger.
func TestPublic(t *testing.T) {
	p, err := preset.New("default", 4)
	require.NoError(t, err)
	p.Model.Table = &params.Table{Label: "ill", Classes: []string{"no", "yes"}, Rate: 0.1234567, Columns: []params.Column{
		{Name: "age", High: 90}, {Name: "town", Values: []string{"a", "b"}, Shares: []float64{0.5, 0.5}}}}
	lines, err := Public(p)
	require.NoError(t, err)
	require.Len(t, lines, 4)
	for i, want := range []string{"model: classes 10, ", "privacy: batch 15000, clip 1, ",
		"table: classes 2, columns 2 high/low/name/shares/values, label ill, rate 0.123457", "training: learning_rate "} {
		require.Contains(t, lines[i], want)
	}
	require.Contains(t, lines[1], "noise_multiplier ")
	require.NotContains(t, lines[1], "budget")
	p.Model.Table = nil
	lines, err = Public(p)
	require.NoError(t, err)
	require.Len(t, lines, 3)
	p.Privacy.Clip = math.NaN()
	_, err = Public(p)
	require.Error(t, err)
}

// TestBet: where rounds take all examples the bet is Phi(mu/2): the distance 2 Phi(mu/2) - 1 in total variation is the
// least delta at epsilon 0. Otherwise it is the point at which epsilon and delta bound both errors alike.
func TestBet(t *testing.T) {
	for _, z := range []float64{2, 11, 100} {
		in := Input{SamplingRate: 1, Rounds: 25, Delta: 1e-6}
		distance := 2*in.bet(z, 1) - 1
		for delta, zero := range map[float64]bool{distance * (1 + 1e-6): true, distance * (1 - 1e-6): false} {
			epsilon, err := accountant.Epsilon(accountant.Analytic, delta, in.step(z))
			require.NoError(t, err)
			require.Equal(t, zero, epsilon == 0, "z %v", z)
		}
	}
	in := Input{SamplingRate: 0.1, Delta: 1e-3}
	wrong := 1 - in.bet(5, 2)
	require.InDelta(t, 1-wrong, math.Exp(2)*wrong+in.Delta, 1e-12)
	require.Equal(t, "50.1 of 100", hundreds(0.50001))
}

// TestRareClass: attackers of a table one of whose classes is rare are warned of where vectors are sums: attackers
// took churn of docs/TABLES.md below the guess of the class that is frequent.
func TestRareClass(t *testing.T) {
	churn := func(in *Input) {
		in.Model, in.Rate, in.Momentum, in.Rounds, in.NoiseMultiplier = model.Spec{Inputs: 19, Classes: 2}, 0.15, 1, 24, 20.7
		in.SamplingRate, in.Participants, in.Byzantine, in.Samples = 1, 10, 3, 399
	}
	const want = "0.15 of the rows: f = 3 attackers that hide in noise of 0.067 times the clip norm may bring the " +
		"accuracy below the 0.85 of guessing the other class"
	require.Len(t, made(t, with(twenty, churn)).Warnings, 1)
	require.Contains(t, made(t, with(twenty, churn)).Warnings[0], want)
	for _, change := range []func(*Input){
		func(in *Input) { in.Rate = 0.85 }, // the other class is rare
		func(in *Input) { in.Rate = 0.3 }, func(in *Input) { in.Momentum = 0 }, func(in *Input) { in.Byzantine = 0 },
	} {
		in := with(with(twenty, churn), change)
		warned := strings.Contains(strings.Join(made(t, in).Warnings, "\n"), "is rare")
		require.Equal(t, in.Rate == 0.85, warned)
	}
}
