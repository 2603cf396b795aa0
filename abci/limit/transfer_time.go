package limit

import (
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// transferRate is the assumed rate, in bytes a second, at which nodes transfer and verify the transactions of a round.
// TransferTime counts the bytes of a round once for each validator. The rate is less than half of a 1 Gbit/s link. The
// margin is for slower links and for nodes that share two cores.
const transferRate = 50_000_000

// TransferTime returns the estimated time until the bytes of a round with all active participants
// have reached all validators.
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

// TransferTimeFor returns the estimate of TransferTime for n active participants and the given number of validators.
func TransferTimeFor(p params.Params, n, validators int) time.Duration {
	return time.Duration(p.RoundBytes(n)*int64(validators)) * (time.Second / transferRate)
}
