package testnet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// TestTooManyAttackers: a net whose attackers are more than its rule withstands has a warning.
func TestTooManyAttackers(t *testing.T) {
	n := &Net{}
	n.Genesis.Params = params.Params{Rule: params.Rule{Byzantine: 1}}
	n.Manifest.Attacks = []Attack{{Node: 1, Kind: "silent"}}
	n.warnOfAttackers()
	require.Empty(t, n.Warnings)
	n.Manifest.Attacks = append(n.Manifest.Attacks, Attack{Node: 2, Kind: "silent"})
	n.warnOfAttackers()
	require.Equal(t, []string{"2 attackers, and the rule withstands 1: the model may be ruined"}, n.Warnings)
	n.Warnings, n.Manifest.Attacks, n.Genesis.Params.Rule.Byzantine = nil, n.Manifest.Attacks[:1], 0
	n.warnOfAttackers()
	require.Equal(t, []string{"1 attacker, and the rule withstands 0: the model may be ruined"}, n.Warnings)
}
