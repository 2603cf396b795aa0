package tx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
)

func TestLeaveCost(t *testing.T) {
	for _, c := range []struct {
		n, f, validators int
		validator, zero  bool
		says             string
	}{
		{5, 1, 5, true, false, "N is 4 (now 5) and f 1 (now 1); of validators 4 (now 5) and f 1 (now 1)"},
		{4, 1, 4, true, true, "N is 3 (now 4) and f 0 (now 1); of validators 3 (now 4) and f 0 (now 1)"},
		{8, 1, 4, true, true, "f 1 (now 1); of validators 3 (now 4) and f 0 (now 1)"},
		{8, 1, 4, false, false, "N is 7 (now 8) and f 1 (now 1)"},
		{2, 0, 1, false, false, "N is 1 (now 2) and f 0 (now 0)"},
	} {
		text, zero := leaveCost(query.Membership{Participants: c.n, Byzantine: c.f, Validators: c.validators}, c.validator)
		require.Contains(t, text, c.says)
		require.Equal(t, c.zero, zero, text)
	}
}
