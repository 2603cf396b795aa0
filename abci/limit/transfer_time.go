package limit

import (
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// transferRate is the assumed rate, in bytes a second, at which nodes transfer and verify a round's
// transactions. The bytes of the round count once for each validator. The rate is less than half of
// what a link of 1 Gbit/s carries, as a margin for slower links and for nodes that share two cores.
const transferRate = 50_000_000

// TransferTime returns the estimated time until a round's bytes have reached all validators, when
// all active participants are in the round.
func TransferTime(p params.Params, all []app.Participant) time.Duration {
	n, validators := 0, 0
	for i := range all {
		if !all[i].Active {
			continue
		}
		n++
		if len(all[i].ConsensusKey) > 0 {
			validators++
		}
	}
	return TransferTimeFor(p, n, validators)
}

// TransferTimeFor returns the same for n participants, with a number of validators among them.
func TransferTimeFor(p params.Params, n, validators int) time.Duration {
	return time.Duration(p.RoundBytes(n)*int64(validators)) * (time.Second / transferRate)
}
