//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/testnet"
)

// TestConsent: one home of four asks. The others train without it from epoch 0 on, and its node, the
// doctor and the command say what awaits consent. After consent it is in the rounds; after a
// withdrawal it is not, and is a member still.
func TestConsent(t *testing.T) {
	const asks = 3
	n := start(t, testnet.Manifest{Validators: 4}, func(made *testnet.Net) {
		_, err := home.Set(made.Nodes[asks].Home, "worker.consent", "ask")
		require.NoError(t, err)
	})
	spdl := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(binary, append(args, "--home", n.Net.Nodes[asks].Home, "--node", n.Net.Nodes[asks].RPC,
			"-o", "json")...).Output()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	declared := func() string {
		t.Helper()
		s, err := n.clients[asks].Status(context.Background())
		require.NoError(t, err)
		require.NotNil(t, s.Home)
		return s.Home.Consent
	}
	// absent waits for ten rounds in a row without the home.
	absent := func() {
		t.Helper()
		at := n.open(0)
		n.reach(at + 10)
		for r := at; r < at+10; r++ {
			for _, x := range n.record(0, r).Contributions {
				require.NotEqual(t, uint32(asks), x.Participant, "round %d", r)
			}
		}
	}
	absent()
	require.Equal(t, "awaited", declared())
	var all []struct {
		Epoch    uint64 `json:"epoch"`
		Params   string `json:"params_hash"`
		Decision string `json:"decision"`
		Rounds   uint64 `json:"rounds"`
	}
	require.NoError(t, json.Unmarshal([]byte(spdl("consent")), &all))
	require.Len(t, all, 1)
	require.Equal(t, "awaited", all[0].Decision)
	require.EqualValues(t, 100_000, all[0].Rounds)
	require.Contains(t, spdl("doctor"), "epoch 0 awaits this home's consent")

	require.Contains(t, spdl("consent", "0", "--params-hash", all[0].Params[:8]), "consented")
	n.rejoined(asks)
	require.Equal(t, "consented", declared())

	require.Contains(t, spdl("consent", "0", "--reject"), "rejected")
	require.Equal(t, "rejected", declared())
	n.reach(n.open(0) + 3) // what was signed before
	absent()
	members, err := n.clients[0].Participants(context.Background())
	require.NoError(t, err)
	require.True(t, members[asks].Active, "a veto needs no departure")

	spdl("consent", "0")
	n.rejoined(asks)
	n.sameHashes()
	t.Logf("absent, in, absent and in again by round %d", n.open(0))
}
