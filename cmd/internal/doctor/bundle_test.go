package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/testnet"
)

// unpack returns the files of a bundle.
func unpack(t *testing.T, data []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		require.Equal(t, int64(0o600), h.Mode)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		out[strings.TrimPrefix(h.Name, folder)] = string(content)
	}
}

// marked is a home whose every secret is known to the test.
type marked struct {
	*Home
	log   string
	marks map[string]string // secrets, by what they are
}

// mark fills the secrets of a home: keys, credentials, settings, data, the journal, and a log and a
// node that tell them.
func mark(t *testing.T) marked {
	t.Helper()
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Validators: 2, Rounds: 5, Seed: 1})
	require.NoError(t, err)
	dir := n.Nodes[0].Home
	m := marked{marks: map[string]string{
		"RPC user": "markrpcuser", "RPC password": "markrpcpassword", "state sync's password": "markstatesync",
		"trainer's argument": "--key=marktrainerargument", "trainer's second": "marktrainersecond",
		"the database's password": "markpsqlpassword", "a row of data": "markrow,1,2,3",
		"a bearer": "markbearertoken", "a passphrase in the log": "markpassphrase", "a key in JSON": "markjsonkey",
		"a URL in the log": "markurlpassword", "journal": "markjournal",
	}}
	set := func(key, value string) {
		_, err := home.Set(dir, key, value)
		require.NoError(t, err, key)
	}
	set("statesync.rpc_servers", "http://somebody:markstatesync@a:1,http://b:1")
	set("tx_index.psql-conn", "postgresql://markpsqluser:markpsqlpassword@db/x")
	set("worker.trainer", "python3,train.py,--key=marktrainerargument,marktrainersecond")
	data := filepath.Join(dir, "data.csv")
	require.NoError(t, os.WriteFile(data, []byte("markrow,1,2,3\n"), 0o600))
	set("worker.data", data)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "worker_journal.json"), []byte("markjournal"), 0o600))
	profiles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "heap") {
			fmt.Fprint(w, "a profile")
			return
		}
		fmt.Fprintln(w, "goroutine profile: total 7 at markrpcpassword")
	}))
	t.Cleanup(profiles.Close)
	set("rpc.pprof_laddr", strings.TrimPrefix(profiles.URL, "http://"))

	rpc := strings.Replace(tellingNode(t), "http://", "http://markrpcuser:markrpcpassword@", 1)
	m.Home = Look(context.Background(), dir, rpc, nil)
	require.NoError(t, m.Invalid)
	c, err := client.New(rpc)
	require.NoError(t, err)
	m.Client, m.Node = c, new(coretypes.ResultStatus)

	keys := map[string]string{"participant": home.InHome(m.Config, m.App.Worker.KeyFile),
		"validator": m.Config.PrivValidatorKeyFile(), "node": m.Config.NodeKeyFile(),
		"next": home.NextKeyFile(home.InHome(m.Config, m.App.Worker.KeyFile))}
	_, err = home.NewKeystore(dir, nil).NewKeys(keys["next"])
	require.NoError(t, err)
	for name, file := range keys {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var content map[string]any
		require.NoError(t, json.Unmarshal(text, &content))
		for field, v := range content {
			if strings.Contains(field, "priv") {
				m.marks[name+" "+field] = v.(map[string]any)["value"].(string)
			}
		}
	}
	require.Contains(t, m.marks, "participant vrf_priv_key")
	var log strings.Builder
	for _, secret := range m.marks {
		if !strings.HasPrefix(secret, "mark") ||
			!strings.Contains("markrow,1,2,3 markbearertoken markpassphrase markjsonkey "+
				"markurlpassword markjournal", secret) {
			fmt.Fprintf(&log, "I[2026] read %s from somewhere\n", secret)
		}
	}
	log.WriteString("I[2026-11-28|14:00:00.000] the trainer says markrow,1,2,3\nmarkrow of an entry with several lines\n" +
		"I[2026-11-28|14:00:01.000] a worker waits\nAuthorization: Bearer markbearertoken\n" +
		"passphrase=markpassphrase x\n" +
		`{"priv_key": "markjsonkey"}` + "\nGET http://u:markurlpassword@h:1/ failed\nI[2026] committed height=7\n")
	m.log = log.String()
	return m
}

// tellingNode returns the address of a node that tells everybody a secret.
func tellingNode(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		result := map[string]string{"net_info": `{"listening":true,"n_peers":"0","listeners":["markrpcpassword"],"peers":[]}`,
			"abci_info":       `{"response":{"data":"token=markbearertoken"}}`,
			"consensus_state": `{"round_state":{"height":"9"}}`}[q.Method]
		if result == "" {
			result = "{}"
		}
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + result + `}`))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestBundleHasNoSecrets: every secret of a home is marked, and no file of its bundle has a mark,
// though the node, its profiles and its log tell them.
func TestBundleHasNoSecrets(t *testing.T) {
	m := mark(t)
	files := Collect(context.Background(), m.Home, strings.NewReader(m.log))
	var archive bytes.Buffer
	require.NoError(t, files.Write(&archive, time.Unix(0, 0)))
	unpacked := unpack(t, archive.Bytes())
	for what, secret := range m.marks {
		for name, content := range unpacked {
			require.NotContains(t, content, secret, "%s has %s", name, what)
		}
	}
	for name, content := range unpacked {
		require.NotContains(t, content, "markpsqluser", name)
		if name != "heap.pb.gz" {
			require.NotContains(t, content, "mark", name)
		}
	}

	require.Contains(t, unpacked["log.txt"], "committed height=7")
	require.Contains(t, unpacked["log.txt"], "a worker waits")
	require.Contains(t, unpacked["log.txt"], "# 2 lines of the trainer are left out")
	require.Contains(t, unpacked["config.txt"], "config.toml: moniker = ")
	require.Contains(t, unpacked["config.txt"], "worker.trainer = "+removed)
	require.Contains(t, unpacked["config.txt"], "worker.data = "+removed)
	require.Contains(t, unpacked["config.txt"], "worker.max_epsilon = 0")
	require.Contains(t, unpacked["config.txt"], "http://b:1")
	require.Contains(t, unpacked["goroutines.txt"], "goroutine profile: total 7")
	require.Contains(t, unpacked["consensus_state.json"], `"height"`)
	require.Contains(t, unpacked["doctor.json"], `"check"`)
	require.Contains(t, unpacked["disk.txt"], "worker_journal.json")
	require.Contains(t, unpacked["version.json"], "app_version")
	for _, f := range files {
		require.Contains(t, unpacked["CONTENTS.txt"], f.Name)
		require.NotContains(t, f.Missing, "mark")
	}
	require.Len(t, unpacked, 1+len(parts))
}

// TestStoppedBundle: what is not there is said, and the rest is written.
func TestStoppedBundle(t *testing.T) {
	files := Collect(context.Background(), Look(context.Background(), t.TempDir(), "", nil), nil)
	missing := map[string]string{}
	for _, f := range files {
		if f.Missing != "" {
			missing[f.Name] = f.Missing
		}
	}
	require.Equal(t, errSilent.Error(), missing["status.json"])
	require.Contains(t, missing["config.txt"], "spdl doctor says why")
	require.Contains(t, missing["log.txt"], "--log FILE")
	require.NotContains(t, missing, "version.json")
	require.NotContains(t, missing, "doctor.json")
}

// TestPublicSettingsExist: the list of settings that a bundle may hold has no key that is no more.
func TestPublicSettingsExist(t *testing.T) {
	known := map[string]bool{}
	for _, s := range home.Settings(home.DefaultConfig(), home.DefaultAppConfig()) {
		known[s.Key] = true
	}
	for _, key := range public {
		require.True(t, known[key], key)
	}
}

// TestLogEnds: the last lines are kept, and a long line is cut.
func TestLogEnds(t *testing.T) {
	var log strings.Builder
	for i := range 3 * maxLines {
		fmt.Fprintf(&log, "line %d\n", i)
	}
	log.WriteString(strings.Repeat("x", 2*maxLine))
	data, err := logTail(context.Background(), &bundled{log: strings.NewReader(log.String())})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	require.Len(t, lines, 1+maxLines)
	require.Len(t, lines[maxLines], maxLine)
	require.Equal(t, fmt.Sprintf("line %d", 3*maxLines-1), lines[maxLines-1])
}
