package chainview_test

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// The rule leaves honest gradients out as well, so that the share decides and not the number.
func Example() {
	for _, opposed := range []int{1, 3, 6} {
		s := chainview.Standing{Active: true, Reputation: params.One, Rounds: 10, Included: 10, Opposed: opposed}
		s.Judge(nil)
		fmt.Printf("%s: %s\n", s.AlarmText(), s.Against())
	}
	// Output:
	// none: opposed once
	// watch: opposed to Delta in 3 of 10
	// differs: opposed to Delta in 6 of 10; attacker or different patients: compare case mix
}
