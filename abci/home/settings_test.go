package home_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

// TestSettingsAreUnique: each key is in only one of the two files.
func TestSettingsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range home.Settings(home.DefaultConfig(), home.DefaultAppConfig()) {
		require.False(t, seen[s.Key], s.Key)
		seen[s.Key] = true
	}
	require.True(t, seen["worker.data"] && seen["p2p.laddr"] && seen["p2p.allowed_peers"] && seen["moniker"])
}

// TestSet: one value changes, and every other byte of the file stays.
func TestSet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	file := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, "config", name))
		require.NoError(t, err)
		return string(data)
	}
	data := filepath.Join(dir, `a "b"`)
	require.NoError(t, os.WriteFile(data, nil, 0o600))
	for _, c := range []struct{ file, key, value, before, after string }{
		{"app.toml", "worker.data", data, "\ndata = \"\"", "\ndata = " + strconv.Quote(data)},
		{"app.toml", "worker.trainer", "python3,train.py", "\ntrainer = []", "\ntrainer = [\"python3\",\"train.py\"]"},
		{"app.toml", "worker.trainer", `["a]", "#"]`, `trainer = ["python3","train.py"]`, `trainer = ["a]","#"]`},
		{"app.toml", "worker.trainer", "", `trainer = ["a]","#"]`, "trainer = []"},
		{"app.toml", "worker.parts", "4", "\nparts = 1\n", "\nparts = 4\n"},
		{"app.toml", "worker.alpha", "0.5", "\nalpha = 1.0\n", "\nalpha = 0.5\n"},
		{"app.toml", "explorer.enabled", "true", "read only\nenabled = false", "read only\nenabled = true"},
		{"app.toml", "p2p.allowed_peers", strings.Repeat("ab", 20), `allowed_peers = ""`, `allowed_peers = "` +
			strings.Repeat("ab", 20) + `"`},
		{"config.toml", "p2p.external_address", "a.example:1", `external_address = ""`, `external_address = "a.example:1"`},
		{"config.toml", "p2p.persistent_peers", strings.Repeat("ab", 20) + "@a.example:1", `persistent_peers = ""`,
			`persistent_peers = "` + strings.Repeat("ab", 20) + `@a.example:1"`},
		{"config.toml", "consensus.timeout_prevote", "2s", `timeout_prevote = "100ms"`, `timeout_prevote = "2s"`},
		{"config.toml", "log_level", "error", `log_level = "app:info,worker:info,*:error"`, `log_level = "error"`},
	} {
		was := file(c.file)
		require.Equal(t, 1, strings.Count(was, c.before), c.before)
		s, err := home.Set(dir, c.key, c.value)
		require.NoError(t, err, c.key)
		require.Equal(t, c.file, s[0].File)
		require.Equal(t, strings.Replace(was, c.before, c.after, 1), file(c.file), c.key)
	}
	conf, a, err := home.Load(dir)
	require.NoError(t, err)
	require.Equal(t, data, a.Worker.Data)
	require.Equal(t, "a.example:1", conf.P2P.ExternalAddress)
}

// TestSetRejects: a value that the loader would reject is not written.
func TestSetRejects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	was, err := os.ReadFile(filepath.Join(dir, "config", "app.toml"))
	require.NoError(t, err)
	for key, c := range map[string]struct{ value, says string }{
		"worker.part":                   {"1", "worker.part is 1 of 1 parts"},
		"worker.parts":                  {"1\nx = 2", "want a whole number"},
		"worker.enabled":                {"yes", `worker.enabled is "yes", want true or false`},
		"proposal.wait":                 {"1m", "below consensus.timeout_propose"},
		"worker.trainer":                {"[1]", "want a JSON array"},
		"worker.alpha":                  {"x", "want a number"},
		"worker.step_delay":             {"3", "want a duration"},
		"nothing":                       {"3", `no key "nothing"`},
		"mempool.type":                  {"app", "mempool.type"},
		"p2p.libp2p.scaler.overrides":   {"x", "list of tables"},
		"instrumentation.max_open_conn": {"x", "no key"},
		"db_backend":                    {"rocks", `db_backend is "rocks"`},
		"log_level":                     {"loud", `log_level is "loud"`},
		"tx_index.indexer":              {"foo", `tx_index.indexer is "foo", want "kv", "null" or "psql"`},
		"explorer.laddr":                {"foo", `explorer.laddr is "foo", want an address to listen on`},
		"statesync.trust_hash":          {"zzzz", `statesync.trust_hash is "zzzz", want 64 hex digits`},
		"worker.poll_interval":          {"0s", "poll_interval 0s, want above 0"},
		"worker.data":                   {"/no/such.csv", `worker.data is "/no/such.csv", want a file or folder`},
		"priv_validator_laddr":          {"tcp://0.0.0.0:1", `is "tcp://0.0.0.0:1", want the address of one interface`},
		"rpc.laddr":                     {"tcp://127.0.0.1:99999", "port from 0 to 65535"},
		"p2p.laddr":                     {"127.0.0.7", `p2p.laddr is "127.0.0.7"`},
		"p2p.persistent_peers":          {"foo@1.2.3.4:26656", `p2p.persistent_peers names "foo@1.2.3.4:26656"`},
	} {
		t.Setenv("SPDL_WORKER_PARTS", "4") // the file has to be valid by itself
		_, err := home.Set(dir, key, c.value)
		require.ErrorIs(t, err, home.ErrConfig, key)
		require.ErrorContains(t, err, c.says)
	}
	now, err := os.ReadFile(filepath.Join(dir, "config", "app.toml"))
	require.NoError(t, err)
	require.Equal(t, string(was), string(now))
}

// TestLoadRejects: a value by hand with which the node does not start, or starts without an index, is rejected.
func TestLoadRejects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	path := filepath.Join(dir, "config", "config.toml")
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	for key, value := range map[string]string{"log_level": "foo:bar", "indexer": "foo"} {
		line := regexp.MustCompile(`(?m)^` + key + ` = .*$`)
		require.Regexp(t, line, string(was))
		require.NoError(t, os.WriteFile(path, line.ReplaceAll(was, []byte(key+` = "`+value+`"`)), 0o600))
		_, _, err = home.Load(dir)
		require.ErrorIs(t, err, home.ErrConfig)
		require.ErrorContains(t, err, key+` is "`+value+`"`)
	}
}

// TestSetAdds: a key that the file lacks is added at the end of its section, and a missing section
// at the end of the file.
func TestSetAdds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	path := filepath.Join(dir, "config", "app.toml")
	short := "# mine\n[worker]\nenabled = true # always\n\n[pool]\nmax_bytes = 1000 # small\n"
	require.NoError(t, os.WriteFile(path, []byte(strings.TrimSuffix(short, "\n")), 0o600))
	for _, kv := range [][2]string{{"worker.data", "embedded"}, {"pool.max_bytes", "2000"}, {"retain.rounds", "7"}} {
		_, err := home.Set(dir, kv[0], kv[1])
		require.NoError(t, err)
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# mine\n[worker]\nenabled = true # always\ndata = \"embedded\"\n\n[pool]\n"+
		"max_bytes = 2000 # small\n\n[retain]\nrounds = 7\n", string(got))
	all := home.Settings(home.DefaultConfig(), home.DefaultAppConfig())
	require.True(t, slices.ContainsFunc(all, func(s home.Setting) bool { return s.Key == "retain.rounds" }))
}

// TestSetSeveral: keys of both files are changed together, or none is. A key that is not set is not examined: the data
// of a home may be mounted later.
func TestSetSeveral(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	a := home.DefaultAppConfig()
	a.Worker.Data = "/not/mounted.csv"
	_, err := home.Init(dir, home.DefaultConfig(), a)
	require.NoError(t, err)
	sync := []string{"statesync.enable", "true", "statesync.trust_height", "9", "statesync.rpc_servers", "a:1,b:1"}
	_, err = home.Set(dir, sync...)
	require.ErrorIs(t, err, home.ErrConfig, "the hash is missing")
	c, _, err := home.Load(dir)
	require.NoError(t, err)
	require.False(t, c.StateSync.Enable)
	set, err := home.Set(dir, append(sync, "statesync.trust_hash", strings.Repeat("ab", 32), "worker.part", "0")...)
	require.NoError(t, err)
	require.Len(t, set, 5)
	require.Equal(t, []string{"statesync.rpc_servers", `["a:1","b:1"]`}, []string{set[2].Key, set[2].String()})
	c, _, err = home.Load(dir)
	require.NoError(t, err)
	require.True(t, c.StateSync.Enable)
	require.Equal(t, []string{"a:1", "b:1"}, c.StateSync.RPCServers)
}

// TestSetLeavesSeveralLines: a value of several lines is left to an editor, and the file stays.
func TestSetLeavesSeveralLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	path := filepath.Join(dir, "config", "app.toml")
	for _, text := range []string{"[worker]\ntrainer = [\n  \"a\", # one\n]\n", "[ \"worker\" ]\ntrainer = []\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, _, err = home.Load(dir)
		require.NoError(t, err)
		_, err = home.Set(dir, "worker.trainer", "b")
		require.ErrorIs(t, err, home.ErrConfig)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
}
