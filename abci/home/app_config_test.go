package home_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/viper"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// readBack reads app.toml of a home in the same way as the command line.
func readBack(t *testing.T, path string, into any) {
	t.Helper()
	doc, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, home.DecodeTOML(path, doc, into), "a key of the file that no field has")
}

// TestAppConfigRoundTrip: every field of app.toml survives a write and a read, so the template
// lacks and misspells no key.
func TestAppConfigRoundTrip(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "config"), 0o700))
	want := home.AppConfig{
		Node: home.NodeConfig{Role: home.RoleMember},
		Worker: home.WorkerConfig{
			Consent: home.ConsentAsk,
			Enabled: true, KeyFile: "k.json", Journal: "j.json", Data: "/some/where", Partition: home.PartitionDirichlet,
			Alpha: 0.25, Part: 3, Parts: 7, PartitionSeed: 11, TestSeed: 1<<63 - 1, StepDelay: home.Duration{90 * time.Second},
			PollInterval: home.Duration{70 * time.Millisecond},
			Trainer:      []string{"python3", `my "trainer".py`}, TrainerDir: "/study",
			TrainerTimeout: home.Duration{3 * time.Minute},
			Unit:           "group:patient \"id\"",
			MaxEpsilon:     1.5, MinNoiseMultiplier: 2.25, TrustHeight: 8, TrustHash: strings.Repeat("0aB1", 16),
			TrustPeriod: home.Duration{9 * time.Hour}, MaxAge: home.Duration{10 * time.Second},
			Sandbox: "off", TrainerMemory: 1 << 30, TrainerScratch: 1 << 20, TrainerProcesses: 9,
			Trainers: []string{strings.Repeat("5f", 32)}, TrainerRead: []string{"/models", `a "b"`},
			TrainerEnv: []string{"HF_HOME=/models", "X"},
			Devices:    []string{"/dev/nvidia0"},
			Signer:     "tcp://10.0.0.6:26661", SignerCerts: "/etc/spdl/signer",
		},
		Signer: home.SignerConfig{Connect: "10.0.0.5:26659", NodeID: strings.Repeat("0aB1", 10),
			Listen: "unix:///run/spdl/signer.sock", Certificates: "certs", Users: []string{"spdl", "1001"},
			Allow: []string{"approve", "consent"}, Rate: 0.5},
		Proposal: home.ProposalConfig{Wait: home.Duration{3 * time.Second},
			StragglerWait: home.Duration{125 * time.Millisecond}},
		P2P: home.P2PConfig{Gossip: home.GossipAnnounce, AllowedPeers: strings.Repeat("0aB1", 10),
			Relays: strings.Repeat("0aB1", 10) + "@relay.example.org:26656"},
		Pool:     home.PoolConfig{MaxBytes: 1 << 33},
		Snapshot: home.SnapshotConfig{Interval: 17},
		Retain:   store.Retain{Rounds: 18, Heights: 19},
		Explorer: home.ExplorerConfig{Enabled: true, Laddr: "tcp://127.0.0.2:1", Eval: true},
		API: home.APIConfig{Hosts: "a.example,b.example", Rate: 2, Burst: 3, MaxConnections: 4, MaxStreams: 5,
			StreamsPerClient: 6},
	}
	for _, c := range []home.AppConfig{want, home.DefaultAppConfig()} {
		require.NoError(t, c.Validate())
		require.NoError(t, c.WriteFile(dir))
		var got home.AppConfig
		readBack(t, filepath.Join(dir, "config", "app.toml"), &got)
		require.Equal(t, c, got)
	}
	without := home.DefaultAppConfig() // a localnet's home, whose manifest sets no list
	without.Worker.TrainerRead, without.Worker.Devices = nil, nil
	require.NoError(t, without.WriteFile(dir))
	var got home.AppConfig
	readBack(t, filepath.Join(dir, "config", "app.toml"), &got)
	require.Equal(t, home.DefaultAppConfig(), got)
}

// TestDefaultsOfTheTrainer: the defaults in app.toml are those that a trainer has without it.
func TestDefaultsOfTheTrainer(t *testing.T) {
	w := home.DefaultAppConfig().Worker
	require.Equal(t, trainer.DefaultTimeout, w.TrainerTimeout.Duration)
	require.EqualValues(t, sandbox.DefaultScratch, w.TrainerScratch)
	require.EqualValues(t, sandbox.DefaultProcesses, w.TrainerProcesses)
}

// TestAppConfigQuoting: no character in a path breaks the file.
func TestAppConfigQuoting(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "config"), 0o700))
	want := home.DefaultAppConfig()
	want.Worker.Data = `C:\new "data"`
	require.NoError(t, want.WriteFile(dir))
	var got home.AppConfig
	readBack(t, filepath.Join(dir, "config", "app.toml"), &got)
	require.Equal(t, want, got)
}

func TestAppConfigRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*home.AppConfig)
		says   string
	}{
		"partition":      {func(a *home.AppConfig) { a.Worker.Partition = "random" }, `partition is "random"`},
		"alpha":          {func(a *home.AppConfig) { a.Worker.Partition, a.Worker.Alpha = "dirichlet", 0 }, "alpha is 0"},
		"timeout":        {func(a *home.AppConfig) { a.Worker.TrainerTimeout.Duration = 0 }, "trainer_timeout is 0s"},
		"no role":        {func(a *home.AppConfig) { a.Node.Role = "seed" }, `node.role is "seed", want "member" or "relay"`},
		"relay trains":   {func(a *home.AppConfig) { a.Node.Role = home.RoleRelay }, "worker.enabled true"},
		"relay, no id":   {func(a *home.AppConfig) { a.P2P.Relays = "relay.example.org:1" }, "want id@host:port"},
		"part beyond":    {func(a *home.AppConfig) { a.Worker.Part = 1 }, "part is 1 of 1"},
		"part negative":  {func(a *home.AppConfig) { a.Worker.Part = -1 }, "part is -1"},
		"no parts":       {func(a *home.AppConfig) { a.Worker.Parts = 0 }, "of 0 parts"},
		"step delay":     {func(a *home.AppConfig) { a.Worker.StepDelay.Duration = -1 }, "step_delay is -1ns"},
		"wait":           {func(a *home.AppConfig) { a.Proposal.Wait.Duration = 0 }, "wait is 0s"},
		"straggler wait": {func(a *home.AppConfig) { a.Proposal.StragglerWait.Duration = -1 }, "straggler_wait -1ns"},
		"explorer": {func(a *home.AppConfig) { a.Explorer = home.ExplorerConfig{Enabled: true} },
			`explorer.laddr is ""`},
		"explorer port": {func(a *home.AppConfig) {
			a.Explorer = home.ExplorerConfig{Enabled: true,
				Laddr: "127.0.0.1:99999"}
		}, `explorer.laddr is "127.0.0.1:99999"`},
		"allowed peers": {func(a *home.AppConfig) { a.P2P.AllowedPeers = "nobody" }, `p2p.allowed_peers names "nobody"`},
		"explorer off":  {func(a *home.AppConfig) { a.Explorer.Laddr = "foo" }, `explorer.laddr is "foo"`},
		"poll":          {func(a *home.AppConfig) { a.Worker.PollInterval.Duration = 0 }, "poll_interval 0s, want above 0"},
		"rate":          {func(a *home.AppConfig) { a.API.Rate = 0 }, "api.rate is 0"},
		"streams":       {func(a *home.AppConfig) { a.API.MaxStreams = -1 }, "max_streams -1"},
		"pool":          {func(a *home.AppConfig) { a.Pool.MaxBytes = 0 }, "max_bytes is 0"},
	} {
		a := home.DefaultAppConfig()
		c.change(&a)
		require.ErrorContains(t, a.Validate(), c.says, name)
	}
}

// TestConfigRoundTrip: config.toml is CometBFT's own file, has the measured settings, and passes
// CometBFT's own checks.
func TestConfigRoundTrip(t *testing.T) {
	want := home.DefaultConfig()
	home.UseLoopback(want)
	require.NoError(t, want.ValidateBasic())
	path := filepath.Join(t.TempDir(), "config.toml")
	config.WriteConfigFile(path, want)
	got := config.DefaultConfig()
	v := viper.New()
	v.SetConfigFile(path)
	require.NoError(t, v.ReadInConfig())
	require.NoError(t, v.Unmarshal(got))
	require.Equal(t, want.Consensus, got.Consensus)
	require.Equal(t, want.P2P, got.P2P)
	require.Equal(t, want.RPC, got.RPC)
	require.Equal(t, want.LogLevel, got.LogLevel)

	require.Zero(t, got.Consensus.TimeoutCommit)
	require.True(t, got.Consensus.WaitForTxs(), "no empty blocks while nothing is to be said")
	require.Positive(t, got.Consensus.CreateEmptyBlocksInterval, "heights move on while a round waits")
	require.Greater(t, got.Consensus.TimeoutPropose, home.DefaultAppConfig().Proposal.Wait.Duration,
		"a proposer may wait as long as it is allowed to")
	require.Greater(t, got.RPC.MaxBodyBytes, int64(got.Mempool.MaxTxBytes)*4/3,
		"the largest transaction, in base64, fits a request")
}
