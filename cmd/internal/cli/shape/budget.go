package shape

import (
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/privacy/accountant"
)

// ErrBudget means that the budget of --epsilon is below the cost of the rounds alone.
var ErrBudget = errors.New("does not pay")

// AfterSpend adds to an ErrBudget the largest epsilon that a participant has spent before, which is nil if the chain
// does not know it.
func AfterSpend(err error, spent *float64) error {
	if !errors.Is(err, ErrBudget) || spent == nil {
		return err
	}
	return fmt.Errorf("%w; it is the budget over all epochs, of which participants have spent up to epsilon %s before",
		err, accountant.Text(*spent))
}

// CheckBudgets compares the remaining budgets of the active participants with the cost of an epoch. The
// warning names the participants that cannot pay for all rounds; it is "" if all can. broke lists the
// participants that cannot pay for a single round.
func CheckBudgets(members []app.Participant, p params.Params) (warning string, broke []uint32, err error) {
	var short []uint32
	var poorest app.Participant
	least := p.Training.Rounds
	for _, m := range members {
		left := p.Privacy.Participations(m.Spent)
		if !m.Active || left >= p.Training.Rounds {
			continue
		}
		if left == 0 {
			broke = append(broke, m.Index)
		}
		if short = append(short, m.Index); left < least {
			least, poorest = left, m
		}
	}
	if len(short) == 0 {
		return "", nil, nil
	}
	before, err := preset.EpsilonWith(p.Privacy, poorest.Spent, 0)
	if err != nil {
		return "", nil, err
	}
	need, err := preset.EpsilonWith(p.Privacy, poorest.Spent, p.Training.Rounds)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("participants %v have spent so much that epsilon %g does not pay for all rounds; it pays for %d "+
		"of the %d rounds of participant %d, which has spent epsilon %s before, and for all of them needs %.2f: --epsilon "+
		"is the budget over all epochs", short, p.Privacy.Epsilon, least, p.Training.Rounds, poorest.Index,
		accountant.Text(before), math.Ceil(need*100)/100), broke, nil
}
