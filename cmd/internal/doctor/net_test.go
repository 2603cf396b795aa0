package doctor

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// TestNet: the folder of four homes says which of them run. It fails if their chain stands, and if one is a copy of
// another, which it names.
func TestNet(t *testing.T) {
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Validators: 4, Rounds: 5, Seed: 1})
	require.NoError(t, err)
	var homes []Examined
	for _, one := range n.Nodes {
		h := Look(context.Background(), one.Home, "", nil)
		require.NoError(t, h.Invalid)
		homes = append(homes, Examined{Dir: one.Home, Home: h, Findings: []Finding{{Check: "last block", Level: Warn}}})
	}
	members, err := homes[0].Home.participants(t.Context())
	require.NoError(t, err)
	net := func() Finding {
		f := Net(t.Context(), homes)
		require.Equal(t, "net", f.Check)
		require.Equal(t, f.Level != OK, f.Remedy != "")
		return f
	}
	run := func(i int, all []app.Participant) {
		homes[i].Home.Node = nil
		key, err := homes[i].Home.validatorKey()
		require.NoError(t, err)
		homes[i].Home.Node = &coretypes.ResultStatus{ValidatorInfo: coretypes.ValidatorInfo{PubKey: key}}
		homes[i].Home.Client = fakeNode(t, map[string]string{"abci_query": answer(t, all)})
	}
	require.Equal(t, "4 homes: 0 run, 4 stopped (node0, node1, node2, node3)", net().Found)
	run(0, members)
	run(1, members)
	require.Equal(t, Finding{Check: "net", Level: OK, Found: "4 homes: 2 run, 2 stopped (node2, node3)"}, net())
	homes[1].Findings[0].Level = Fail
	f := net()
	require.Equal(t, Fail, f.Level)
	require.Equal(t, "4 homes: 2 run, 2 stopped (node2, node3): no block comes", f.Found)
	homes[1].Findings[0].Level = Warn
	homes[2].Home.Hangs = true
	f = net()
	require.Equal(t, Fail, f.Level)
	require.Equal(t, "4 homes: 2 run, 1 hang (node2), 1 stopped (node3)", f.Found)
	require.Contains(t, f.Remedy, "end those that hang")
	homes[2].Home.Hangs = false

	run(2, members)
	require.Equal(t, OK, net().Level)
	dir := filepath.Join(t.TempDir(), "restored")
	require.NoError(t, os.CopyFS(dir, os.DirFS(n.Nodes[2].Home)))
	copied := Look(context.Background(), dir, "", nil)
	require.NoError(t, copied.Invalid)
	homes = append(homes, Examined{Dir: dir, Home: copied})
	f = net()
	require.Equal(t, Fail, f.Level)
	require.Equal(t, "5 homes: 3 run, 2 stopped (node3, restored); the same participant's or validator's key: node2 and "+
		"restored", f.Found)
	require.NoError(t, os.Remove(home.InHome(copied.Config, copied.App.Worker.KeyFile)))
	require.Equal(t, Fail, net().Level, "the validator's key alone")
}
