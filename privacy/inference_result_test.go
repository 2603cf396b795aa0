package privacy_test

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Interval is an estimate with its 95 % confidence interval.
type Interval struct{ Value, Low, High float64 }

func (i Interval) String() string { return fmt.Sprintf("%.3f [%.3f, %.3f]", i.Value, i.Low, i.High) }

// Result is how an attack fared.
type Result struct {
	Trials    int // with the canary, and as many without
	Threshold float64
	// The rates at the threshold, TPR the share of members that the attack names, FPR of others.
	// Each pair of intervals holds together.
	TPR, FPR  Interval
	Advantage Interval // TPR - FPR
	AUC       Interval // the chance that a member's score is above another's
}

func (r Result) String() string {
	return fmt.Sprintf("advantage %v, TPR %v at FPR %v, AUC %v, %d trials each", r.Advantage, r.TPR, r.FPR, r.AUC,
		r.Trials)
}

// Breaks reports whether the rates refute (epsilon, delta)-privacy: at 95 %, no mechanism that has
// it gives them.
func (r Result) Breaks(epsilon, delta float64) bool {
	return r.TPR.Low > MaxTPR(r.FPR.High, epsilon, delta)
}

// Epsilon returns the least epsilon that the rates do not refute, at 95 %, for a mechanism with this
// delta: 0 if they refute none.
func (r Result) Epsilon(delta float64) float64 {
	named := max(r.TPR.Low-delta, 0) / r.FPR.High
	cleared := max(1-r.FPR.High-delta, 0) / (1 - r.TPR.Low)
	return math.Log(max(1, named, cleared))
}

// OfGroup returns what (epsilon, delta)-privacy of one row promises to a person with k rows.
func OfGroup(k int, epsilon, delta float64) (float64, float64) {
	n := float64(k)
	return n * epsilon, min(1, delta*math.Expm1(n*epsilon)/math.Expm1(epsilon))
}

// MaxTPR bounds the true positives of any attack with a rate of false positives, under (epsilon,
// delta)-privacy: TPR <= exp(epsilon) FPR + delta, and the same for those that it clears, 1 - FPR
// <= exp(epsilon) (1 - TPR) + delta.
func MaxTPR(fpr, epsilon, delta float64) float64 {
	return min(1, math.Exp(epsilon)*fpr+delta, 1-math.Exp(-epsilon)*(1-delta-fpr))
}

// MaxAdvantage bounds TPR - FPR of any attack: (exp(epsilon) - 1 + 2 delta)/(exp(epsilon) + 1).
func MaxAdvantage(epsilon, delta float64) float64 { return 1 - 2*corner(epsilon, delta) }

// MaxAUC bounds the area under the curve of any attack: that under [MaxTPR].
func MaxAUC(epsilon, delta float64) float64 {
	f := corner(epsilon, delta)
	return f*(delta+1-f)/2 + (1-delta-f)*(2-f)/2 + delta
}

// corner returns the rate of false positives at which the two bounds of MaxTPR meet.
func corner(epsilon, delta float64) float64 { return (1 - delta) / (1 + math.Exp(epsilon)) }

// separate returns the threshold that tells two samples of scores apart best: a member scores above
// it.
func separate(in, out []float64) (threshold float64) {
	best := math.Inf(-1)
	for _, candidate := range append(slices.Clone(in), out...) {
		if gain := above(in, candidate) - above(out, candidate); gain > best {
			best, threshold = gain, candidate
		}
	}
	// Fresh scores fall on both sides of the samples' gap: take its middle.
	next := math.Inf(1)
	for _, s := range append(slices.Clone(in), out...) {
		if s > threshold {
			next = min(next, s)
		}
	}
	if !math.IsInf(next, 1) {
		threshold += (next - threshold) / 2
	}
	return threshold
}

// above returns the share of scores beyond a threshold.
func above(scores []float64, threshold float64) float64 {
	return float64(count(scores, threshold)) / float64(len(scores))
}

func count(scores []float64, threshold float64) (n int) {
	for _, s := range scores {
		if s > threshold {
			n++
		}
	}
	return n
}

const miss = 0.05 // the chance that an interval does not hold

func measure(in, out []float64, threshold float64) Result {
	n := len(in)
	r := Result{
		Trials: n, Threshold: threshold,
		TPR: proportion(count(in, threshold), n, miss/2), FPR: proportion(count(out, threshold), n, miss/2),
	}
	r.Advantage = Interval{r.TPR.Value - r.FPR.Value, r.TPR.Low - r.FPR.High, r.TPR.High - r.FPR.Low}
	wins := 0.0
	for _, s := range in {
		for _, o := range out {
			switch {
			case s > o:
				wins++
			case s == o:
				wins += 0.5
			}
		}
	}
	// Hoeffding's bound for a mean over pairs: as if over n independent ones.
	auc, reach := wins/float64(n)/float64(n), math.Sqrt(math.Log(2/miss)/2/float64(n))
	r.AUC = Interval{auc, max(0, auc-reach), min(1, auc+reach)}
	return r
}

// proportion is k of n with its exact interval, which misses with the given chance (Clopper and
// Pearson).
func proportion(k, n int, miss float64) Interval {
	i := Interval{float64(k) / float64(n), 0, 1}
	if k > 0 {
		i.Low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), miss/2)
	}
	if k < n {
		i.High = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-miss/2)
	}
	return i
}
