package testnet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// TestFaultsAreTold: what a localnet's manifest names is told in one line each, with the values that
// are set; a folder without a localnet has none.
func TestFaultsAreTold(t *testing.T) {
	dir := t.TempDir()
	attacks, perturbations, err := Faults(dir)
	require.NoError(t, err)
	require.Empty(t, attacks)
	require.Empty(t, perturbations)
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte("validators = 4\n"+
		"[[attack]]\nnode = 2\nkind = \"silent\"\n[[attack]]\nnode = 1\nkind = \"sign-flip\"\n"+
		"[[perturb]]\nnode = 0\nround = 3\naction = \"slow\"\nfor = \"2s\"\ndelay = \"50ms\"\nway = \"in\"\n"), 0o600))
	attacks, perturbations, err = Faults(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"1=sign-flip", "2=silent"}, attacks)
	require.Equal(t, []string{"0=slow after round 3 for 2s way in delay 50ms"}, perturbations)
}

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
