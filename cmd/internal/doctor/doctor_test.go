package doctor

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/p2p"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// healthy is a machine on which no check finds anything.
var healthy = System{
	Free:        func(string) (uint64, error) { return 1 << 50, nil },
	Descriptors: func() (uint64, error) { return 1 << 20, nil },
	Synced:      func() (bool, error) { return true, nil },
	Contains:    func() (string, error) { return "Landlock", nil },
}

// stopped returns the first home of a localnet of two, whose nodes were never started, by its RPC
// address.
func stopped(t *testing.T) (h *Home, rpc string) {
	t.Helper()
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Validators: 2, Rounds: 5, Seed: 1})
	require.NoError(t, err)
	dir := n.Nodes[0].Home
	h = Look(context.Background(), dir, n.Nodes[0].RPC, nil)
	require.NoError(t, h.Invalid)
	require.NoError(t, h.NoGenesis)
	require.False(t, h.runs())
	h.System = healthy
	return h, n.Nodes[0].RPC
}

// one makes one check.
func one(t *testing.T, h *Home, name string) Finding {
	t.Helper()
	for _, c := range checks {
		if c.name == name {
			f := c.run(context.Background(), h)
			require.NotEmpty(t, f.Found)
			require.Equal(t, f.Level == Warn || f.Level == Fail, f.Remedy != "", "only a finding has a remedy: %v", f)
			t.Log(f)
			return f
		}
	}
	t.Fatalf("no check %q", name)
	return Finding{}
}

// TestHealthy: in a home that was just made no check fails, although no other node runs yet.
func TestHealthy(t *testing.T) {
	h, _ := stopped(t)
	for _, f := range Examine(context.Background(), h) {
		t.Log(f)
		require.NotEqual(t, Fail, f.Level, f)
	}
}

// TestEachCheckFails: each check fails or warns in the situation for which it exists.
func TestEachCheckFails(t *testing.T) {
	for _, c := range []struct {
		check string
		level Level
		says  string
		spoil func(*testing.T, *Home)
	}{
		{"configuration", Fail, "worker.part is 0 of 0 parts", func(t *testing.T, h *Home) {
			t.Setenv("SPDL_WORKER_PARTS", "0")
			_, _, h.Invalid = home.Load(h.Config.RootDir)
		}},
		{"configuration", Warn, "unknown key consensus.timeout_propse (did you mean consensus.timeout_propose?)",
			func(t *testing.T, h *Home) {
				file := filepath.Join(h.Config.RootDir, "config", "config.toml")
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("\ntimeout_propose ="),
					[]byte("\ntimeout_propse ="), 1), 0o600))
			}},
		{"configuration", Fail, "memdb", func(_ *testing.T, h *Home) { h.Config.DBBackend = "memdb" }},
		{"configuration", Fail, "no such file", func(_ *testing.T, h *Home) { h.App.Worker.Data = "none.csv" }},
		{"configuration", Fail, "worker.trainer is set, and the chain's model is \"softmax\"", func(_ *testing.T, h *Home) {
			h.App.Worker.Trainer = []string{"python3", "train.py"}
		}},
		{"configuration", Fail, "worker.data of app.toml is empty, and 2 participants", func(_ *testing.T, h *Home) {
			h.App.Worker.Data = ""
		}},
		{"configuration", OK, "are valid", func(t *testing.T, h *Home) { // an epoch has made the model external
			h.App.Worker.Trainer = []string{"python3", "train.py"}
			saveState(t, h, func(s *app.State) {
				s.Params.Model = params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
					Tensors: []params.Tensor{{Name: "w", Init: params.InitZeros, Shape: []uint32{uint32(len(s.Model))}}}}
			})
		}},
		{"exposure", Warn, "rpc.laddr is tcp://0.0.0.0:1", func(_ *testing.T, h *Home) {
			h.Config.RPC.ListenAddress = "tcp://0.0.0.0:1"
		}},
		{"exposure", Warn, "rpc.pprof_laddr", func(_ *testing.T, h *Home) { h.Config.RPC.PprofListenAddress = ":6060" }},
		{"exposure", Warn, "rpc.unsafe", func(_ *testing.T, h *Home) { h.Config.RPC.Unsafe = true }},
		{"exposure", Warn, "instrumentation.prometheus_listen_addr is :26660", func(_ *testing.T, h *Home) {
			h.Config.Instrumentation.Prometheus, h.Config.Instrumentation.PrometheusListenAddr = true, ":26660"
		}},
		{"exposure", Warn, "explorer.laddr is 0.0.0.0:8080", func(_ *testing.T, h *Home) {
			h.App.Explorer.Enabled, h.App.Explorer.Laddr = true, "0.0.0.0:8080"
		}},
		{"exposure", Warn, "strangers", func(_ *testing.T, h *Home) { h.App.P2P.MembersOnly = false }},
		{"exposure", Warn, "cors", func(_ *testing.T, h *Home) { h.Config.RPC.CORSAllowedOrigins = []string{"*"} }},
		{"genesis", Fail, "no such file", func(t *testing.T, h *Home) {
			require.NoError(t, os.Remove(h.Config.GenesisFile()))
			_, h.NoGenesis = home.ReadGenesis(h.Config)
		}},
		{"genesis", Fail, "chain", func(_ *testing.T, h *Home) { h.Genesis.ChainID = strings.Repeat("x", 60) }},
		{"program", Warn, "this program executes", func(_ *testing.T, h *Home) {
			h.Genesis.ConsensusParams.Version.App = 99
		}},
		{"keys", Fail, "0644", func(t *testing.T, h *Home) {
			require.NoError(t, os.Chmod(h.Config.NodeKeyFile(), 0o644))
		}},
		{"keys", Fail, ".next", func(t *testing.T, h *Home) {
			next := home.NextKeyFile(home.InHome(h.Config, h.App.Worker.KeyFile))
			require.NoError(t, os.WriteFile(next, nil, 0o600))
			require.NoError(t, os.Chmod(next, 0o640))
		}},
		{"keys", Fail, "no key files", func(t *testing.T, h *Home) {
			require.NoError(t, os.RemoveAll(filepath.Join(h.Config.RootDir, "config")))
		}},
		{"keys", Warn, "these are not", func(t *testing.T, h *Home) {
			require.NoError(t, os.WriteFile(home.IdentityFile(h.Config.RootDir), []byte("age"), 0o600))
		}},
		{"keys", Fail, "identity.age is missing", func(t *testing.T, h *Home) {
			require.NoError(t, os.WriteFile(h.Config.NodeKeyFile(), []byte("age-encryption.org/v1\n"), 0o600))
		}},
		{"keys", Fail, "has no VRF key", func(t *testing.T, h *Home) {
			participant, validator := home.InHome(h.Config, h.App.Worker.KeyFile), h.Config.PrivValidatorKeyFile()
			require.NoError(t, os.Rename(participant, participant+".x"))
			require.NoError(t, os.Rename(validator, participant))
			require.NoError(t, os.Rename(participant+".x", validator))
		}},
		{"keys", Fail, "participant_key.json is missing: the node does not start", func(t *testing.T, h *Home) {
			require.NoError(t, os.Remove(home.InHome(h.Config, h.App.Worker.KeyFile)))
		}},
		{"keys", OK, "2 files", func(t *testing.T, h *Home) {
			h.App.Worker.Signer = "unix:///run/spdl/signer.sock"
			require.NoError(t, os.Remove(home.InHome(h.Config, h.App.Worker.KeyFile)))
		}},
		{"keys", Fail, "node_key.json is missing", func(t *testing.T, h *Home) {
			require.NoError(t, os.Remove(h.Config.NodeKeyFile()))
		}},
		{"keys", Warn, "other members' nodes may reject it", func(t *testing.T, h *Home) {
			saveState(t, h, func(s *app.State) { s.Participants[0].NodeIds = []string{strings.Repeat("ab", 20)} })
		}},
		{"journal", Warn, "counts 27 gradients, the chain 107", func(t *testing.T, h *Home) {
			saveState(t, h, func(s *app.State) {
				s.Participants[0].Participations, s.Participants[0].Releases = 107, 7 // 7 of the running epoch
				writeJournal(t, h, fmt.Sprintf(`{"chain_id":%q,"participant_id":%q,"signed":27}`+"\n", h.Genesis.ChainID,
					base64.StdEncoding.EncodeToString(s.Participants[0].Id)))
			})
		}},
		{"databases", Fail, "the blocks are 0 to 0, the state is of height 0, the application of height 7",
			func(t *testing.T, h *Home) { saveState(t, h, func(s *app.State) { s.Height = 7 }) }},
		{"databases", Fail, "a database is damaged", func(t *testing.T, h *Home) {
			saveState(t, h, func(*app.State) {})
			db, err := home.OpenDB(h.Config, "state")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.NoError(t, os.Truncate(filepath.Join(h.Config.DBDir(), "state.db", "CURRENT"), 0))
		}},
		{"databases", Fail, "a process has them", func(t *testing.T, h *Home) {
			db, err := dbm.NewDB("application", dbm.GoLevelDBBackend, h.Config.DBDir())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
		}},
		{"divergence", Fail, "contradicts", func(t *testing.T, h *Home) {
			require.NoError(t, os.WriteFile(filepath.Join(h.Config.DBDir(), "diverged.json"), []byte("{}"), 0o600))
		}},
		{"journal", Fail, "damaged", func(t *testing.T, h *Home) { writeJournal(t, h, "deadbeef not a line\n") }},
		{"journal", Fail, `of chain "other"`, func(t *testing.T, h *Home) { writeJournal(t, h, `{"chain_id":"other"}`) }},
		{"journal", Fail, `for the unit of privacy "group:patient", and the chain's is "example"`,
			func(_ *testing.T, h *Home) { h.App.Worker.Unit = "group:patient" }},
		{"journal", Fail, `for the unit of privacy "group", and the chain's is "example"`, func(t *testing.T, h *Home) {
			writeJournal(t, h, `{"chain_id":"`+h.Genesis.ChainID+`","participant_id":"AAAA","signed":3,"unit":"group"}`)
		}},
		{"journal", Fail, "whom the chain does not have", func(t *testing.T, h *Home) {
			writeJournal(t, h, `{"chain_id":"`+h.Genesis.ChainID+`","participant_id":"AAAA","signed":3}`)
		}},
		{"ports", Fail, "p2p.laddr", func(t *testing.T, h *Home) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, l.Close()) })
			h.Config.P2P.ListenAddress = "tcp://" + l.Addr().String()
		}},
		{"ports", Fail, "the node abc answers", func(_ *testing.T, h *Home) { h.Other = "abc" }},
		{"ports", Fail, "do not answer", func(_ *testing.T, h *Home) { h.Node = new(coretypes.ResultStatus) }},
		{"peers", Warn, "this node was never started, and the others need not run", func(*testing.T, *Home) {}},
		{"peers", Fail, "0 of 1 nodes answer", func(t *testing.T, h *Home) { saveState(t, h, func(*app.State) {}) }},
		{"peers", Warn, "participant 0 has left or was removed: the members' nodes reject this one",
			func(t *testing.T, h *Home) { saveState(t, h, func(s *app.State) { s.Participants[0].Active = false }) }},
		{"validator", Skip, "participant 0 has left or was removed", func(t *testing.T, h *Home) {
			saveState(t, h, func(s *app.State) { s.Participants[0].Active = false })
		}},
		{"time sync", Warn, "not synchronised", func(_ *testing.T, h *Home) {
			h.System.Synced = func() (bool, error) { return false, nil }
		}},
		{"disk", Fail, "a node needs", func(_ *testing.T, h *Home) {
			h.System.Free = func(string) (uint64, error) { return spare - 1, nil }
		}},
		{"disk", Warn, "are to come", func(_ *testing.T, h *Home) {
			h.System.Free = func(string) (uint64, error) { return spare, nil }
			h.Genesis.AppState = withRounds(h.Genesis.AppState, 1000000)
		}},
		{"descriptors", Warn, "may open 256 files", func(_ *testing.T, h *Home) {
			h.System.Descriptors = func() (uint64, error) { return 256, nil }
		}},
		{"kernel", Fail, "it will not be started: the trainer cannot be contained", func(_ *testing.T, h *Home) {
			h.App.Worker.Trainer = []string{"python3", "train.py"}
			h.System.Contains = func() (string, error) { return "", sandbox.ErrUnsupported }
		}},
		{"kernel", Skip, "none could be contained here", func(_ *testing.T, h *Home) {
			h.System.Contains = func() (string, error) { return "", sandbox.ErrUnsupported }
		}},
		{"kernel", Warn, "can read the node's keys", func(_ *testing.T, h *Home) {
			h.App.Worker.Trainer, h.App.Worker.Sandbox = []string{"python3", "train.py"}, home.SandboxOff
		}},
		{"consent", Skip, "lists what awaits consent", func(_ *testing.T, h *Home) {
			h.App.Worker.Consent = home.ConsentAsk
		}},
	} {
		t.Run(c.check+" "+c.says, func(t *testing.T) {
			h, _ := stopped(t)
			c.spoil(t, h)
			f := one(t, h, c.check)
			require.Equal(t, c.level, f.Level)
			require.Contains(t, f.Found, c.says)
		})
	}
}

// saveState stores the state at genesis, changed, as the last one of the home's data.
func saveState(t *testing.T, h *Home, change func(*app.State)) {
	t.Helper()
	g, err := app.DecodeGenesis(h.Genesis.AppState)
	require.NoError(t, err)
	s, err := app.NewState(h.Genesis.ChainID, 1, h.Genesis.ConsensusParams.Block.MaxBytes, g)
	require.NoError(t, err)
	change(s)
	db, err := home.OpenApplicationDB(h.Config)
	require.NoError(t, err)
	data := store.New(db)
	require.NoError(t, data.Save(&app.Outcome{State: s, Changed: true}, true))
	require.NoError(t, data.Close())
}

// TestHaltedByUpgrade: a stopped home whose next height needs another state machine fails, with the version.
func TestHaltedByUpgrade(t *testing.T) {
	h, _ := stopped(t)
	saveState(t, h, func(s *app.State) { s.Height = 7 })
	require.Equal(t, OK, one(t, h, "program").Level)
	saveState(t, h, func(s *app.State) {
		s.Height, s.Progress.Upgrades = 7, []app.Upgrade{{Name: "six", Height: 8, Version: app.Version + 1}}
	})
	f := one(t, h, "program")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, fmt.Sprintf(`upgrade "six" makes it version %d from height 8 on`, app.Version+1))
}

// TestGenesisOfData: a genesis.json that is not the genesis of the home's data fails, and no remedy moves the journal.
func TestGenesisOfData(t *testing.T) {
	h, _ := stopped(t)
	former, err := cmtjson.Marshal(h.Genesis)
	require.NoError(t, err)
	db, err := home.OpenDB(h.Config, "state")
	require.NoError(t, err)
	require.NoError(t, db.Set([]byte("genesisDoc"), former))
	require.NoError(t, db.Close())
	writeJournal(t, h, `{"chain_id":"`+h.Genesis.ChainID+`","participant_id":"AAAA","signed":3}`+"\n")
	saveState(t, h, func(s *app.State) { s.Height = 7 })
	require.NotEqual(t, Fail, one(t, h, "genesis").Level)

	h.Genesis.ChainID = "another"
	require.NoError(t, h.Genesis.SaveAs(h.Config.GenesisFile()))
	f := one(t, h, "genesis")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "the file is of chain another")
	require.Contains(t, f.Remedy, "put the former file back")
	require.Equal(t, Skip, one(t, h, "journal").Level)
}

func writeJournal(t *testing.T, h *Home, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(home.Journals(h.Config, h.App), []byte(text), 0o600))
}

// fakeNode answers RPC questions with fixed results, by method, or by method and path.
func fakeNode(t *testing.T, results map[string]string) *client.Client {
	t.Helper()
	c, err := client.New(serve(t, results))
	require.NoError(t, err)
	return c
}

// serve returns the address of a fakeNode.
func serve(t *testing.T, results map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Path string `json:"path"`
			} `json:"params"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		result, ok := results[q.Method+" "+q.Params.Path]
		if !ok {
			result = results[q.Method]
		}
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + result + `}`))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestRunningNode: checks that ask the node report the node's answers.
func TestRunningNode(t *testing.T) {
	h, _ := stopped(t)
	h.Node = new(coretypes.ResultStatus)
	h.Client = fakeNode(t, map[string]string{
		"abci_info": `{"response":{"version":"v0.1","app_version":"77"}}`,
		"abci_query": `{"response":{"value":"` + // base64 of the clocks of three peers
			`W3sibm9kZV9pZCI6ImEiLCJhaGVhZF9tcyI6MTIwMDB9LHsibm9kZV9pZCI6ImIiLCJhaGVhZF9tcyI6MTMwMDB9LHsibm9kZV9pZCI6ImMi` +
			`LCJhaGVhZF9tcyI6MX1d"}}`,
	})
	f := one(t, h, "program")
	require.Equal(t, Warn, f.Level)
	require.Contains(t, f.Found, "version 77 of the state machine")
	f = one(t, h, "peer clocks")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "12s ahead")
	h.Client = fakeNode(t, map[string]string{"abci_query": answer(t, []query.PeerClock{{AheadMs: -2}})})
	require.Contains(t, one(t, h, "peer clocks").Found, "are 2ms behind")
}

// TestTwin: a node that answers with the home's id, while nothing has the home's databases, is of another home with the
// same keys. With encrypted keys it may be one. The home's own node holds the lock.
func TestTwin(t *testing.T) {
	h, _ := stopped(t)
	look := func() *Home {
		status, err := cmtjson.Marshal(coretypes.ResultStatus{NodeInfo: p2p.DefaultNodeInfo{DefaultNodeID: h.publicID()},
			ValidatorInfo: coretypes.ValidatorInfo{PubKey: ed25519.GenPrivKey().PubKey()}})
		require.NoError(t, err)
		return Look(t.Context(), h.Config.RootDir, serve(t, map[string]string{"status": string(status)}), nil)
	}
	check := func(has string) {
		t.Helper()
		twin := look()
		require.False(t, twin.runs())
		f := one(t, twin, "keys")
		require.Equal(t, Fail, f.Level)
		require.Regexp(t, "^the node at http://.* "+has+" these keys, but is of another home: two processes", f.Found)
		require.Equal(t, Skip, one(t, twin, "ports").Level)
		require.Equal(t, Skip, one(t, twin, "validator").Level)
	}
	check("has")
	saveState(t, h, func(*app.State) {})
	check("has")
	db, err := home.OpenApplicationDB(h.Config)
	require.NoError(t, err)
	own := look()
	require.True(t, own.runs(), own.Twin)
	require.NoError(t, db.Close())
	encryptKeys(t, h, false)
	check("may have")
}

// TestHangs: a process that has the databases and answers nobody hangs. One check names it and says what to do, and no
// other takes its port for another program's, or the node for stopped.
func TestHangs(t *testing.T) {
	stage.OnlyLong(t)
	h, _ := stopped(t)
	saveState(t, h, func(*app.State) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	rpc := "tcp://" + l.Addr().String()
	db, err := home.OpenApplicationDB(h.Config)
	require.NoError(t, err)
	h = Look(t.Context(), h.Config.RootDir, rpc, nil)
	require.True(t, h.Hangs)
	require.False(t, h.runs())
	f := one(t, h, "databases")
	require.Equal(t, Fail, f.Level)
	if runtime.GOOS == "linux" {
		require.Contains(t, f.Found, fmt.Sprintf("hangs, pid %d: ", os.Getpid()))
		require.Equal(t, fmt.Sprintf("end it (kill -9 %d), then start it", os.Getpid()), f.Remedy)
	}
	for _, check := range []string{"ports", "last block", "peer clocks"} {
		f := one(t, h, check)
		require.Equal(t, Skip, f.Level)
		require.Contains(t, f.Found, "the node hangs")
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	free := gone.Addr().String()
	require.NoError(t, gone.Close())
	away := Look(t.Context(), h.Config.RootDir, "tcp://"+free, nil)
	f = one(t, away, "databases")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "no node of this home answers at tcp://"+free)
	require.Contains(t, f.Remedy, "name its address with --node")
	away.Other = "abc"
	require.Equal(t, Warn, one(t, away, "databases").Level, "another node's address is no fault of this home")
	for _, check := range []string{"ports", "last block", "peer clocks"} {
		require.Contains(t, one(t, away, check).Found, "the node does not answer", check)
	}
	require.NoError(t, db.Close())
	require.False(t, Look(t.Context(), h.Config.RootDir, rpc, nil).Hangs, "no process has the databases")
}

// TestOthersGenesis: a witness with another genesis of the same chain id is named, and a witness
// with the same genesis is not.
func TestOthersGenesis(t *testing.T) {
	h, _ := stopped(t)
	witness := func(rounds int) *client.Client {
		doc := *h.Genesis
		doc.AppState = withRounds(doc.AppState, rounds)
		data := genesisChunk(t, &doc)
		return fakeNode(t, map[string]string{"genesis_chunked": `{"chunk":"0","total":"1","data":"` + data + `"}`})
	}
	h.Witnesses = map[string]*client.Client{"b": witness(5)}
	require.Equal(t, OK, one(t, h, "genesis of others").Level)
	h.Witnesses["c"] = witness(6)
	f := one(t, h, "genesis of others")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Found, "c has another genesis")
	h.Witnesses = map[string]*client.Client{"d": unreachable(t)}
	require.Equal(t, Warn, one(t, h, "genesis of others").Level)
}

func unreachable(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New("tcp://127.0.0.1:1")
	require.NoError(t, err)
	return c
}

// TestLiveNode: on a net that runs, no check fails, and the checks that need the node are made.
func TestLiveNode(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Validators: 2, Rounds: 1000000, Seed: 1})
	require.NoError(t, err)
	nodes, err := testnet.StartInProcess(n, nopLogger())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, nodes.Stop()) })
	var found map[string]Finding
	require.Eventually(t, func() bool {
		h := Look(context.Background(), n.Nodes[0].Home, n.Nodes[0].RPC, nil)
		h.System = healthy
		found = map[string]Finding{}
		for _, f := range Examine(context.Background(), h) {
			found[f.Check] = f
		}
		return h.runs() && strings.Contains(found["peers"].Found, "1 are connected") &&
			strings.HasSuffix(found["validator"].Found, "votes") // after the first block
	}, 2*time.Minute, time.Second)
	for _, f := range found {
		t.Log(f)
		require.NotEqual(t, Fail, f.Level, f)
	}
	require.Contains(t, found["participant"].Found, "participant 0 is active; epoch 0, round ")
	require.Regexp(t, "^[0-9A-F]{40}, of participant 0, votes$", found["validator"].Found)
	require.Equal(t, "the node that runs has them", found["databases"].Found)
	require.Contains(t, found["ports"].Found, "answer: p2p.laddr")
	require.Contains(t, found["genesis of others"].Found, "its own node")

	other := Look(context.Background(), n.Nodes[1].Home, n.Nodes[0].RPC, nil)
	require.False(t, other.runs())
	key, err := home.NewKeystore(n.Nodes[0].Home, nil).LoadNodeKey(filepath.Join(n.Nodes[0].Home, "config",
		"node_key.json"))
	require.NoError(t, err)
	require.Equal(t, p2p.ID(other.Other), key.ID())
}

// TestOtherUser: a home of another user gets the remedy to run doctor as that user.
func TestOtherUser(t *testing.T) {
	h := &Home{Invalid: &fs.PathError{Op: "open", Path: "config.toml", Err: syscall.EACCES}}
	f := one(t, h, "configuration")
	require.Equal(t, Fail, f.Level)
	require.Contains(t, f.Remedy, "run doctor as the node's user")
}

func TestUnreadableHome(t *testing.T) {
	h := Look(context.Background(), t.TempDir(), "", nil)
	require.ErrorIs(t, h.Invalid, os.ErrNotExist)
	found := Examine(context.Background(), h)
	require.Equal(t, Fail, found[0].Level)
	for _, f := range found[1:] {
		require.Equal(t, Skip, f.Level)
	}
	require.True(t, Failed(found))
	require.False(t, Failed(found[1:]))
	require.False(t, errors.Is(h.NoGenesis, os.ErrNotExist))
}

// TestDiskToCome: the estimate is at least what nets have stored, and at most a tenth more. The bytes are those of
// block store, index, results and write-ahead log of a node after a run of spdl-lab testnet start --no-eval.
func TestDiskToCome(t *testing.T) {
	h, _ := stopped(t)
	for _, net := range []struct {
		preset           string
		n                int
		rounds, measured uint64
	}{
		{"default", 4, 400, 5113446 + 4802600 + 2182886 + 6995683},
		{"mlp", 4, 60, 1980988 + 1910915 + 343929 + 2268584},
		{"default", 10, 60, 1653857 + 1735464 + 647000 + 4697919},
	} {
		p, err := preset.New(net.preset, net.n)
		require.NoError(t, err)
		got := h.bytesOf(app.Genesis{Params: p}, net.n, net.rounds)
		t.Logf("%s, N=%d: %d, measured %d", net.preset, net.n, got, net.measured)
		require.GreaterOrEqual(t, got, net.measured)
		require.Less(t, float64(got), 1.1*float64(net.measured))
	}
}
