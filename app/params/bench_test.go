package params_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
)

// BenchmarkRule validates the rule for a consortium, as every waiting join and departure does at a
// boundary.
func BenchmarkRule(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			rule := apptest.Params(n).Rule
			for b.Loop() {
				require.NoError(b, rule.Validate(n))
			}
		})
	}
}
