package client

import (
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"
)

// TestEpsilonIn: EpsilonIn returns only a finite number, and only from the event of a round.
func TestEpsilonIn(t *testing.T) {
	of := func(kind, key, value string) *float64 {
		return EpsilonIn([]abcitypes.Event{{Type: "reveal"}, {Type: kind,
			Attributes: []abcitypes.EventAttribute{{Key: "round", Value: "3"}, {Key: key, Value: value}}}})
	}
	require.InDelta(t, 1.745, *of("round", "epsilon", "1.745000"), 0)
	for _, bad := range []string{"none", "", "NaN", "+Inf"} {
		require.Nil(t, of("round", "epsilon", bad), bad)
	}
	require.Nil(t, of("gradient", "epsilon", "1"))
	require.Nil(t, of("round", "margin", "1"))
	require.Nil(t, EpsilonIn(nil))
}
