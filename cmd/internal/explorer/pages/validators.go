package pages

import (
	"slices"

	cmttypes "github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// The number of blocks over which a page computes a validator's uptime; the max number of consecutive blocks without
// its vote that count as late votes; and the share of blocks, in percent, below which the uptime is an alarm.
const upBlocks, lateBlocks, fewPercent = 100, 3, 80

// validatorLine is a validator with its votes on the last blocks.
type validatorLine struct {
	Address              string
	Power                int64
	Share                float64 // of all votes, in percent
	Who                  *app.Participant
	Signed, Late, Absent int    // blocks
	Last                 int64  // height of the last one that it signed
	New                  bool   // it was no validator at the first of these blocks
	votes                []bool // the oldest first
}

// validatorsPage is the validator set with its votes on the last blocks.
type validatorsPage struct {
	Height, Power int64
	Looked        int // number of blocks
	Oldest        int64
	Lines         []validatorLine
	Pager         pager
}

// Up returns the share of blocks that it signed, late or in time, in percent.
func (l validatorLine) Up() int { return 100 * (l.Signed + l.Late) / max(1, l.Signed+l.Late+l.Absent) }

// Few reports whether the validator signed so few blocks that the page shows a warning.
func (l validatorLine) Few() bool { return l.Signed+l.Late+l.Absent > 0 && l.Up() < fewPercent }

// validators shows the validator set, and which of the last upBlocks blocks each has signed.
func validators(r *Request) Content {
	who := r.Owners()
	all, at, err := r.ValidatorsAt(nil)
	r.Fail(err)
	b := validatorsPage{Height: at}
	for _, v := range all {
		b.Power += v.VotingPower
	}
	lines := make([]validatorLine, 0, len(all))
	for _, v := range all {
		address := v.Address.String()
		lines = append(lines, validatorLine{Address: address, Power: v.VotingPower, Who: who[address],
			Share: 100 * float64(v.VotingPower) / float64(max(1, b.Power))})
	}
	b.Lines, b.Pager = pageOf(r, lines)
	b.Looked = r.readVotes(b.Lines, at)
	b.Oldest = at - int64(b.Looked)
	return Content{"validators", "Validators", b}
}

// readVotes completes the lines of validators with their votes on the last blocks before a height.
// It returns the number of these blocks, which is smaller if the node does not keep all of them.
func (r *Request) readVotes(lines []validatorLine, at int64) (looked int) {
	oldest := at
	for ; oldest > max(1, at-upBlocks); oldest-- {
		by, ok := r.Signed(oldest - 1)
		if !ok {
			break
		}
		for i := range lines {
			l := &lines[i]
			if l.votes = append(l.votes, by[l.Address]); by[l.Address] {
				l.Last = max(l.Last, oldest-1)
			}
		}
	}
	then, _, _ := r.ValidatorsAt(&oldest)
	for i := range lines {
		l := &lines[i]
		slices.Reverse(l.votes)
		l.New = len(then) > 0 && !slices.ContainsFunc(then, func(v *cmttypes.Validator) bool {
			return v.Address.String() == l.Address
		})
		l.count()
	}
	return int(at - oldest)
}

// count distinguishes late votes from missing ones. A block's successor carries only the votes that
// its proposer had received, so a working validator misses some: runs of up to lateBlocks blocks.
func (l *validatorLine) count() {
	for i := 0; i < len(l.votes); {
		run := i
		for run < len(l.votes) && l.votes[run] == l.votes[i] {
			run++
		}
		switch n := run - i; {
		case l.votes[i]:
			l.Signed += n
		case i == 0 && l.New: // before its first vote
		case n <= lateBlocks:
			l.Late += n
		default:
			l.Absent += n
		}
		i = run
	}
}
