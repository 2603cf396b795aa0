package accountant

import (
	"fmt"
	"math"
	"sync"
)

// Ledger answers for any number of further rounds what they cost in RDP. What it has computed for one number of rounds it uses
// for every other, so that a curve over 1000 rounds takes little longer than its last point. Its answers are those of [Epsilon]
// and [Delta], and do not depend on what was asked before. It is safe for concurrent use.
type Ledger struct {
	spent []Step // merged, as are all
	round []Step // the mechanism of the rounds to come, once; empty if there is none

	mu     sync.Mutex
	before []float64 // logMoment of spent for each of orders, NaN until asked for
	each   []float64 // and of one further round
}

// NewLedger returns a ledger over rounds of one mechanism, after what was spent in others.
func NewLedger(round Mechanism, spent ...Step) (*Ledger, error) {
	each, err := merge([]Step{{round, 1}})
	if err != nil {
		return nil, err
	}
	before, err := merge(spent)
	if err != nil {
		return nil, err
	}
	return newLedger(each, before), nil
}

func newLedger(round, spent []Step) *Ledger {
	l := &Ledger{spent: spent, round: round, before: make([]float64, len(orders)), each: make([]float64, len(orders))}
	for i := range orders {
		l.before[i], l.each[i] = math.NaN(), math.NaN()
	}
	return l
}

// Epsilon is the privacy spent after so many rounds of the ledger's mechanism, at delta.
func (l *Ledger) Epsilon(rounds int, delta float64) (float64, error) {
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	if err := l.check(rounds); err != nil {
		return 0, err
	}
	epsilon, _ := l.best(rounds, delta)
	return epsilon, nil
}

// Delta is the delta at which so many rounds of the ledger's mechanism are (epsilon, delta)-private.
func (l *Ledger) Delta(rounds int, epsilon float64) (float64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	if err := l.check(rounds); err != nil {
		return 0, err
	}
	delta, _ := l.delta(rounds, epsilon)
	return delta, nil
}

// MaxRounds is the largest number of rounds that stays within epsilon and delta, 0 if not even one does, and at most 1e9.
func (l *Ledger) MaxRounds(epsilon, delta float64) (int, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	within := func(rounds int) bool {
		spent, _ := l.best(rounds, delta)
		return spent <= epsilon
	}
	if !within(0) {
		return 0, nil
	}
	low, high := 0, 1
	for high <= maxRounds && within(high) {
		low, high = high, 2*high
	}
	for high = min(high, maxRounds+1); high-low > 1; {
		if middle := low + (high-low)/2; within(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

func (l *Ledger) check(rounds int) error {
	if rounds < 0 || rounds > maxRounds {
		return fmt.Errorf("%w: %d rounds, want 0 to %d", ErrParameter, rounds, maxRounds)
	}
	return nil
}

// best is the least epsilon over all orders, and the order.
func (l *Ledger) best(rounds int, delta float64) (epsilon, alpha float64) {
	if l.nothing(rounds) {
		return 0, orders[len(orders)-1]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	epsilon, at := lowest(len(orders), func(i int) float64 { return orderEpsilon(orders[i], l.moment(i, rounds), delta) })
	return max(epsilon, 0), orders[at]
}

// delta is the least delta over all orders, and the order.
func (l *Ledger) delta(rounds int, epsilon float64) (delta, alpha float64) {
	if l.nothing(rounds) {
		return 0, orders[len(orders)-1]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	logDelta, at := lowest(len(orders), func(i int) float64 { return orderLogDelta(orders[i], l.moment(i, rounds), epsilon) })
	return asDelta(logDelta), orders[at]
}

// nothing reports whether nothing has been released, which is (0, 0)-private.
func (l *Ledger) nothing(rounds int) bool {
	return len(l.spent) == 0 && (rounds == 0 || len(l.round) == 0)
}

// moment is the sum of the logMoments of all that was spent, at order i: divergences of one order add up, even if each round's
// computation depends on what came out of those before. The caller holds mu.
func (l *Ledger) moment(i, rounds int) float64 {
	if math.IsNaN(l.before[i]) {
		l.before[i], l.each[i] = logMoments(l.spent, orders[i]), logMoments(l.round, orders[i])
	}
	return l.before[i] + float64(rounds)*l.each[i]
}

func logMoments(steps []Step, alpha float64) float64 {
	sum := 0.0
	for _, s := range steps {
		sum += float64(s.Rounds) * logMoment(s.Mechanism, alpha)
	}
	return sum
}

// MaxRounds is the largest number of rounds of a mechanism that stays within epsilon and delta by RDP: what a genesis turns a
// budget into. It is 0 if not even one round does, and at most 1e9.
func MaxRounds(m Mechanism, epsilon, delta float64) (int, error) {
	l, err := NewLedger(m)
	if err != nil {
		return 0, err
	}
	return l.MaxRounds(epsilon, delta)
}
