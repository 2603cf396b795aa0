package krum

import (
	"fmt"

	"github.com/spdl/spdl/gradients"
)

// Options are the parameters of a selection, without the vectors.
type Options struct {
	// N is the number of active participants, not of the vectors that arrived: with N computed from the included vectors,
	// three colluders among ten win every round. It is at most gradients.MaxParticipants.
	N int
	// F is the number of Byzantine participants to withstand.
	F int
	// Unsquared sums distances instead of squared distances, as the SPDL paper does. Blanchard et
	// al. sum squared distances.
	Unsquared bool
	// Floor, in squared grid steps, replaces every lower squared distance, so that vectors without
	// the noise of honest vectors gain nothing by lying close together. 0 means no floor.
	Floor int64
}

// Neighbours returns N-f-2, the number of nearest other vectors that a score sums over, or an error
// that wraps ErrInfeasible if there is not even one.
func (o Options) Neighbours() (int, error) {
	if o.F < 0 || o.N > gradients.MaxParticipants || o.N < o.F+3 {
		return 0, fmt.Errorf("krum: %w: N = %d, f = %d, want f >= 0 and f+3 <= N <= %d",
			ErrInfeasible, o.N, o.F, gradients.MaxParticipants)
	}
	return o.N - o.F - 2, nil
}

// Feasible returns nil if each of the included vectors of n participants has N-f-2 other vectors
// for its score, otherwise an error that wraps ErrInfeasible or ErrTooFew.
func Feasible(n, f, included int) error {
	q, err := Options{N: n, F: f}.Neighbours()
	switch {
	case err != nil:
		return err
	case included > n:
		return fmt.Errorf("krum: %w: %d vectors of %d participants", ErrInfeasible, included, n)
	case included-1 < q:
		return fmt.Errorf("krum: %w: %d included, so a vector has %d others, but its score needs the N-f-2 = %d nearest"+
			" (N = %d, f = %d)", ErrTooFew, included, max(0, included-1), q, n, f)
	}
	return nil
}

// check returns the number of neighbours, or an error if m of n included vectors cannot be selected.
func (o Options) check(n, m int) (q int, err error) {
	if err := Feasible(o.N, o.F, n); err != nil {
		return 0, err
	}
	q, err = o.Neighbours()
	switch {
	case err != nil:
		return 0, err
	case o.Floor < 0:
		return 0, fmt.Errorf("krum: %w: floor %d, want at least 0", ErrInfeasible, o.Floor)
	case m < 1 || m > n:
		return 0, fmt.Errorf("krum: %w: select %d of %d vectors", ErrInfeasible, m, n)
	}
	return q, nil
}

// Condition returns nil if N >= 2f+3, which the theorem of Blanchard et al. requires, and otherwise
// an error that wraps ErrCondition. The error is only a warning: with N = 4, f = 1 Krum runs, but a
// score is a single distance, the two closest vectors share it, and the minimum is always a tie.
func Condition(n, f int) error {
	if f < 0 || n < 2*f+3 {
		return fmt.Errorf("krum: %w: N = %d, f = %d, want N >= 2f+3 = %d", ErrCondition, n, f, 2*f+3)
	}
	return nil
}
