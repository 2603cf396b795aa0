package chainview

import (
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy/accountant"
)

// Finite returns a pointer to a number, or nil if it is NaN or infinite, which JSON cannot encode.
func Finite(x float64) *float64 {
	if x-x != 0 {
		return nil
	}
	return &x
}

// SpentBy returns the largest epsilon of a participant at the end of each given round, the last of which is the last
// in the ledger: it subtracts the cost of later rounds from the ledger. All entries are nil if there is no guarantee.
func SpentBy(priv params.Privacy, people []app.Participant, records []*app.Record) []*float64 {
	out := make([]*float64, len(records))
	if len(priv.Cost) == 0 {
		return out
	}
	place, spent := map[uint32]int{}, make([][]uint64, len(people))
	for i, p := range people {
		place[p.Index], spent[i] = i, slices.Clone(p.Spent)
	}
	for i := len(records) - 1; i >= 0; i-- {
		epsilon, err := accountant.GreatestEpsilon(spent, priv.Delta)
		if err != nil {
			return out
		}
		out[i] = Finite(epsilon)
		payers := slices.Clone(records[i].Withheld) // a commitment without its gradient costs as much
		for _, c := range records[i].Contributions {
			payers = append(payers, c.Participant)
		}
		for _, payer := range payers {
			at, known := place[payer]
			if !known {
				continue
			}
			s := spent[at]
			for k := range min(len(s), len(priv.Cost)) {
				if s[k] <= accountant.ChainMost { // above it sums are cut off
					s[k] -= min(s[k], priv.Cost[k])
				}
			}
		}
	}
	return out
}
