package testnet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
)

// TestInitCrowd: the genesis has the workers behind the validators, and their home has the key of
// each and its part of the data.
func TestInitCrowd(t *testing.T) {
	n, err := Init(Manifest{Home: t.TempDir(), Validators: 4, Workers: 9, Seed: 2})
	require.NoError(t, err)
	require.Len(t, n.Nodes, 4)
	require.Len(t, n.Genesis.Participants, 13)
	require.Equal(t, uint32(4), n.Genesis.Params.Rule.Byzantine, "of all participants")
	require.Equal(t, uint64(2), n.Genesis.Params.Election.ViewBlocks, "of the validators")
	require.Len(t, n.WorkerGroups, 1)
	again, err := Open(n.Manifest.Home)
	require.NoError(t, err)
	require.Equal(t, n.WorkerGroups, again.WorkerGroups)

	dir := filepath.Join(n.Manifest.Home, "workers0")
	c, a, err := home.Load(dir)
	require.NoError(t, err)
	require.True(t, home.IsWorkerGroup(c, a))
	require.Equal(t, n.Nodes[0].RPC, c.RPC.ListenAddress)
	reads := 0
	data := func(string, params.Model) (mnist.Data, error) {
		reads++
		return mnist.Data{}, nil
	}
	confs, err := home.WorkerGroup(c, a, new(home.Keystore), data,
		func(string, ...any) {})
	require.NoError(t, err)
	require.Len(t, confs, 9)
	for k, conf := range confs {
		p := n.Genesis.Participants[4+k]
		require.Equal(t, []byte(conf.Keys.Public()), p.PubKey)
		require.Empty(t, p.ConsensusKey)
		require.Equal(t, uint64(2<<16+4+k+1), conf.TestSeed)
		require.FileExists(t, conf.Journal)
	}
	require.Zero(t, reads, "before the chain is known")
	_, err = home.InitWorkerGroup(dir, c, a, 1)
	require.ErrorContains(t, err, "exists already")

	a.Worker.Parts = 12
	_, err = home.WorkerGroup(c, a, new(home.Keystore), nil, func(string, ...any) {})
	require.ErrorContains(t, err, "more than 8 key files, parts 4 to 11 of 12")

	require.NoError(t, os.Rename(home.InHome(c, a.Worker.KeyFile), filepath.Join(t.TempDir(), "keys")))
	_, err = home.InitWorkerGroup(dir, c, a, 1)
	require.ErrorContains(t, err, "config.toml exists already", "the operator's settings")
}

func TestCrowdsAreFew(t *testing.T) {
	for workers, want := range map[int][]int{0: nil, 1: {1}, 1024: {1024}, 1025: {1024, 1},
		4092: {1024, 1024, 1024, 1020}} {
		var counts []int
		for _, c := range (&Manifest{Validators: 4, Workers: workers}).workerGroups() {
			counts = append(counts, c.Count)
		}
		require.Equal(t, want, counts, workers)
	}
}
