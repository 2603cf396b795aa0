package home_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

func TestLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, _, err := home.Load(dir)
	require.ErrorContains(t, err, "spdl init makes a home")

	want := home.DefaultConfig()
	want.Moniker = "mine"
	app := home.DefaultAppConfig()
	app.Worker.Parts, app.Worker.Part = 4, 2
	_, err = home.Init(dir, want, app)
	require.NoError(t, err)
	c, a, err := home.Load(dir)
	require.NoError(t, err)
	require.Equal(t, app, a)
	require.Equal(t, "mine", c.Moniker)
	require.Equal(t, want.GenesisFile(), c.GenesisFile())

	t.Setenv("SPDL_WORKER_ENABLED", "false")
	t.Setenv("CMT_P2P_LADDR", "tcp://127.0.0.1:1")
	c, a, err = home.Load(dir)
	require.NoError(t, err)
	require.False(t, a.Worker.Enabled)
	require.Equal(t, "tcp://127.0.0.1:1", c.P2P.ListenAddress)

	t.Setenv("SPDL_PROPOSAL_WAIT", "2s")
	_, _, err = home.Load(dir)
	require.ErrorContains(t, err, "proposal.wait is 2s, want below consensus.timeout_propose of config.toml, 1.5s")
	t.Setenv("CMT_CONSENSUS_TIMEOUT_PROPOSE", "3s")
	_, a, err = home.Load(dir)
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, a.Proposal.Wait.Duration)

	t.Setenv("SPDL_WORKER_PARTS", "0")
	_, _, err = home.Load(dir)
	require.ErrorContains(t, err, "app.toml: worker.part is 2 of 0 parts")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "config/app.toml"), []byte("[worker\n"), 0o600))
	_, _, err = home.Load(dir)
	require.Error(t, err)
}

// TestListenersOfANewHome: only p2p, for which init has a flag, and what its user changes can listen to other hosts.
func TestListenersOfANewHome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	_, err = home.Set(dir, "instrumentation.prometheus", "true")
	require.NoError(t, err)
	c, a, err := home.Load(dir)
	require.NoError(t, err)
	require.True(t, c.Instrumentation.IsPrometheusEnabled())
	for key, laddr := range map[string]string{
		"rpc.laddr": c.RPC.ListenAddress, "explorer.laddr": a.Explorer.Laddr,
		"instrumentation.prometheus_listen_addr": c.Instrumentation.PrometheusListenAddr,
	} {
		host, _, err := net.SplitHostPort(strings.TrimPrefix(laddr, "tcp://"))
		require.NoError(t, err, key)
		require.True(t, net.ParseIP(host).IsLoopback(), "%s is %s", key, laddr)
	}
}

// TestVariableWithoutKey: an environment variable also sets a key that the file does not have.
func TestVariableWithoutKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config/app.toml"), nil, 0o600))
	_, a, err := home.Load(dir)
	require.NoError(t, err)
	require.Equal(t, home.DefaultAppConfig(), a)
	t.Setenv("SPDL_WORKER_TRAINER_TIMEOUT", "7s")
	_, a, err = home.Load(dir)
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, a.Worker.TrainerTimeout.Duration)
}

// TestStray: variables that belong to no key and no flag are named, with the nearest names.
// Variables of keys, flags, the project's tests and other programs are not named.
func TestStray(t *testing.T) {
	require.Empty(t, home.Stray([]string{"SPDL_WORKER_ENABLED=false", "SPDL_NODE=x", "CMT_RPC_LADDR=y", "SPDL_TEST_LONG=1",
		"SPDLX=1", "HOME=/"}, []string{"node"}, nil))
	require.Equal(t, []string{
		"the environment variable CMT_RPC_LADR has no effect: no key and no flag has this name (did you mean CMT_RPC_LADDR?)",
		"the environment variable SPDL_NOTHING_OF_OURS has no effect: no key and no flag has this name",
		"the environment variable SPDL_WORKER_ENABLD has no effect: no key and no flag has this name (did you mean " +
			"SPDL_WORKER_ENABLED?)",
	}, home.Stray([]string{"SPDL_WORKER_ENABLD=false", "SPDL_NOTHING_OF_OURS=", "CMT_RPC_LADR=y"}, nil, nil))

	environ := []string{"SPDL_P2P_LADDR=x", "SPDL_MONIKER=y", "SPDL_NODE=z"}
	flags := []string{"p2p-laddr", "moniker", "node"}
	require.Empty(t, home.Stray(environ, flags, nil))
	require.Equal(t, []string{
		"the environment variable SPDL_P2P_LADDR has no effect here: it is a flag of another command; CMT_P2P_LADDR is the " +
			"key of config.toml",
	}, home.Stray(environ, flags, []string{"moniker"}))
}

// TestLoadWrongType: for a value that is not a number, duration or truth value the error names the
// key, the environment variable, the value and the allowed values.
func TestLoadWrongType(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	for name, want := range map[string]string{
		"SPDL_WORKER_ENABLED": `app.toml: worker.enabled is "maybe", want true or false (by SPDL_WORKER_ENABLED)`,
		"SPDL_PROPOSAL_WAIT": `app.toml: proposal.wait is "maybe", want a duration, as 500ms or 2m ` +
			`(by SPDL_PROPOSAL_WAIT)`,
		"SPDL_SNAPSHOT_INTERVAL": `app.toml: snapshot.interval is "maybe", want a whole number from 0 on ` +
			`(by SPDL_SNAPSHOT_INTERVAL)`,
		"CMT_P2P_MAX_NUM_INBOUND_PEERS": `config.toml: p2p.max_num_inbound_peers is "maybe", want a whole ` +
			`number (by CMT_P2P_MAX_NUM_INBOUND_PEERS)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "maybe")
			_, _, err := home.Load(dir)
			require.ErrorContains(t, err, want)
		})
	}
	path := filepath.Join(dir, "config/app.toml")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, c := range []struct{ was, is, says string }{
		{"enabled = true", `enabled = "maybe"`, "column 11: cannot decode TOML string into struct field"},
		{`wait = "1s"`, `wait = "soon"`, `column 8: "soon", want a duration, as 500ms or 2m`},
		{`wait = "1s"`, "wait = 3", `column 8: "3", want a duration, as 500ms or 2m`},
	} {
		text := strings.Replace(string(data), "\n"+c.was, "\n"+c.is, 1)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, _, err = home.Load(dir)
		require.ErrorIs(t, err, home.ErrConfig)
		require.ErrorContains(t, err, fmt.Sprintf("app.toml, line %d, %s", lineOf(text, c.is), c.says))
	}
}

// lineOf returns the number of the line of a text that begins with the given word.
func lineOf(text, word string) int {
	return strings.Count(text[:strings.Index(text, "\n"+word)+1], "\n") + 1
}

// TestLoadUnknownKey: a misspelt key of app.toml is rejected by name. Unknown keys of config.toml
// are left to CometBFT, and CheckKeys names them.
func TestLoadUnknownKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	add := func(name, line string) {
		path := filepath.Join(dir, "config", name)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append([]byte(line), data...), 0o600))
	}
	require.NoError(t, home.CheckKeys(dir), "every key that init writes is known")
	add("config.toml", "retired = true\n")
	_, _, err = home.Load(dir)
	require.NoError(t, err)
	require.ErrorContains(t, home.CheckKeys(dir), "config.toml: unknown key retired")
	add("app.toml", "[metrics]\nintervall = 3\n")
	_, _, err = home.Load(dir)
	require.ErrorContains(t, err, "metrics")
	require.ErrorContains(t, err, filepath.Join(dir, "config/app.toml"))

	require.NoError(t, home.DefaultAppConfig().WriteFile(dir))
	data, err := os.ReadFile(filepath.Join(dir, "config/app.toml"))
	require.NoError(t, err)
	misspelt := strings.Replace(string(data), "\nalpha = ", "\nalhpa = ", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config/app.toml"), []byte(misspelt), 0o600))
	_, _, err = home.Load(dir)
	require.EqualError(t, err, filepath.Join(dir, "config/app.toml")+
		fmt.Sprintf(", line %d, column 1: unknown key worker.alhpa "+
			"(did you mean worker.alpha?)", lineOf(misspelt, "alhpa")))

	add("app.toml", "[worker\n")
	_, _, err = home.Load(dir)
	require.ErrorContains(t, err, filepath.Join(dir, "config/app.toml"))
	require.NotContains(t, err.Error(), "spdl init", "the home is there")
}

// TestLoadBrokenFile: the error of a file that is no TOML has its line and column.
func TestLoadBrokenFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	file := filepath.Join(dir, "config", "app.toml")
	require.NoError(t, os.WriteFile(file, []byte("[worker]\nenabled = true some\n"), 0o600))
	_, _, err = home.Load(dir)
	require.ErrorIs(t, err, home.ErrConfig)
	require.ErrorContains(t, err, file+", line 2, column ")
}

// TestLoadRejectsOtherMempools: a home with another mempool type than the supported one is
// rejected.
func TestLoadRejectsOtherMempools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	for _, other := range []string{"nop", "app"} {
		t.Setenv("CMT_MEMPOOL_TYPE", other)
		_, _, err = home.Load(dir)
		require.ErrorIs(t, err, home.ErrConfig)
		require.ErrorContains(t, err, `config.toml: mempool.type is "`+other+`", want "flood"`)
	}
}

// TestLoadRejectsARelayThatListensNowhere: a relay must have a listen address, because members dial
// it. A member need not have one.
func TestLoadRejectsARelayThatListensNowhere(t *testing.T) {
	dir := t.TempDir()
	c, err := home.NewConfig("alice", "", "")
	require.NoError(t, err)
	_, err = home.Init(dir, c, home.DefaultAppConfig())
	require.NoError(t, err)
	c, _, err = home.Load(dir)
	require.NoError(t, err)
	require.Empty(t, c.P2P.ListenAddress)
	_, err = home.Set(dir, "worker.enabled", "false")
	require.NoError(t, err)
	_, err = home.Set(dir, "node.role", home.RoleRelay)
	require.ErrorContains(t, err, "p2p.laddr is empty")
}
