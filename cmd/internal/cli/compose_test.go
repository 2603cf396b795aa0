package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/viper"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/cli/watch"
	"github.com/spdl/spdl/internal/stage"
)

// composed is a service of docker-compose.yml as far as a process can run it.
type composed struct {
	Command       []string
	User          string
	ContainerName string `mapstructure:"container_name"`
	Environment   map[string]string
	Ports         []string
	Volumes       []string
	Networks      map[string]struct {
		Address string `mapstructure:"ipv4_address"`
	}
}

// compose reads docker-compose.yml. There is no engine in tests: viper reads
// YAML, and gives keys in lower case.
func compose(t *testing.T) map[string]composed {
	t.Helper()
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	v.SetConfigFile("../../../docker-compose.yml")
	require.NoError(t, v.ReadInConfig())
	services := map[string]composed{}
	require.NoError(t, v.UnmarshalKey("services", &services))
	var subnet struct {
		Config []struct{ Subnet string }
	}
	require.NoError(t, v.UnmarshalKey("networks::localnet::ipam", &subnet))
	_, network, err := net.ParseCIDR(subnet.Config[0].Subnet)
	require.NoError(t, err)
	for name, s := range services {
		address := net.ParseIP(s.Networks["localnet"].Address)
		require.True(t, network.Contains(address) && address.IsPrivate(), name)
	}
	return services
}

// TestComposeHost: the host of one member opens p2p alone to the world, in a private subnet, and
// watches the node by the files that stand beside it.
func TestComposeHost(t *testing.T) {
	const folder = "../../../docs/compose"
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	v.SetConfigFile(filepath.Join(folder, "compose.yml"))
	require.NoError(t, v.ReadInConfig())
	services := map[string]struct {
		Ports, Volumes []string
		Restart        string
	}{}
	require.NoError(t, v.UnmarshalKey("services", &services))
	open := 0
	for name, s := range services {
		require.Equal(t, "unless-stopped", s.Restart, "%s comes back after a restart of the host", name)
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				require.Equal(t, "26656:26656", port, name)
				open++
			}
		}
		for _, volume := range s.Volumes {
			if path, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(path, ".") && path != "./home" {
				require.FileExists(t, filepath.Join(folder, path))
			}
		}
	}
	require.Equal(t, 1, open)
	var subnet struct {
		Config []struct{ Subnet string }
	}
	require.NoError(t, v.UnmarshalKey("networks::monitoring::ipam", &subnet))
	address, _, err := net.ParseCIDR(subnet.Config[0].Subnet)
	require.NoError(t, err)
	require.True(t, address.IsPrivate(), address)
}

func TestCompose(t *testing.T) {
	services := compose(t)
	require.Len(t, services, 4)
	hostPorts, addresses := map[string]bool{}, map[string]bool{}
	for i := range 4 {
		s, ok := services[fmt.Sprintf("node%d", i)]
		require.True(t, ok)
		address := s.Networks["localnet"].Address
		require.Equal(t, fmt.Sprintf("172.28.10.%d", i+2), address)
		require.Equal(t, []string{fmt.Sprintf("./build/localnet/node%d:/spdl:Z", i)}, s.Volumes)
		require.Equal(t, []string{"start"}, s.Command)
		require.NotContains(t, s.User, "root")
		require.NotRegexp(t, `^0`, s.User)
		require.Equal(t, "tcp://0.0.0.0:26656", s.Environment["cmt_p2p_laddr"])
		require.Len(t, s.Ports, 1)
		require.Regexp(t, `^127\.0\.0\.1:\d+-\d+:26656-26657$`, s.Ports[0],
			"RPC has no authentication: the host's loopback alone")
		hostPorts[s.Ports[0]], addresses[address] = true, true
	}
	require.Len(t, hostPorts, 4)
	require.Len(t, addresses, 4)

	file, err := os.ReadFile("../../../Dockerfile")
	require.NoError(t, err)
	stages := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(file), -1)
	require.Len(t, stages, 2)
	require.Contains(t, stages[1][1], "distroless")
	mod, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	needs := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	require.Equal(t, "golang:"+needs, stages[0][1])
	require.Regexp(t, `(?m)^USER 65532`, string(file))
	require.Regexp(t, `(?m)^ENV SPDL_HOME=/spdl$`, string(file))
	for _, port := range []string{"26656", "26657", "26660"} {
		require.Regexp(t, `(?m)^EXPOSE .*\b`+port+`\b`, string(file))
	}
}

// TestComposedNet runs what the compose file describes, as processes on
// 127.0.10.2 to .5 in place of 172.28.10.2 to .5: the environment is the
// file's. The nodes close rounds, export metrics and are shown by top.
func TestComposedNet(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs a net")
	}
	for i := range 4 {
		for _, port := range []string{"26656", "26657", "26660"} {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.10.%d:%s", i+2, port))
			if err != nil {
				t.Skipf("a port of the compose file is taken here, or there is no 127.0.10.0: %v", err)
			}
			l.Close()
		}
	}
	home := filepath.Join(t.TempDir(), "localnet")
	_, stderr, code := spdl(t, "testnet", "init", "--validators", "4", "--rounds", "5", "--seed", "2", "--home", home)
	require.Zero(t, code, stderr)
	local := func(text string) string { return strings.ReplaceAll(text, "172.28.10.", "127.0.10.") }
	var peers []string
	for i := range 4 {
		id, _, code := spdl(t, "show-node-id", "--home", filepath.Join(home, fmt.Sprintf("node%d", i)))
		require.Zero(t, code)
		peers = append(peers, fmt.Sprintf("%s@172.28.10.%d:26656", strings.TrimSpace(id), i+2))
	}
	for name, s := range compose(t) {
		address := local(s.Networks["localnet"].Address)
		cmd := process(t, append(s.Command, "--home", filepath.Join(home, name))...)
		for key, value := range s.Environment {
			value = regexp.MustCompile(`\$\{PEERS:[^}]*\}`).ReplaceAllString(value, local(strings.Join(peers, ",")))
			cmd.Env = append(cmd.Env, strings.ToUpper(key)+"="+strings.ReplaceAll(value, "0.0.0.0", address))
		}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		})
	}
	var shown watch.Glance
	node := "tcp://127.0.10.2:26657"
	require.Eventually(t, func() bool {
		out, _, code := spdl(t, "query", "status", "--participants", "-o", "json", "--node", node)
		shown = watch.Glance{}
		return code == 0 && json.Unmarshal([]byte(out), &shown) == nil && shown.Status.Done && shown.Peers == 3
	}, 3*time.Minute, 500*time.Millisecond)
	require.Len(t, shown.Standings, 4)
	require.Equal(t, uint64(4), shown.Last.Round)
	text, stderr, code := spdl(t, "query", "status", "--participants", "--node", node)
	require.Zero(t, code, stderr)
	require.Contains(t, text, "5 of 5 rounds closed")
	require.Contains(t, text, "finished")
	require.NotContains(t, text, "\x1b")

	lines := []string{ // of another node than that one's: it may be behind, and have dialled fewer peers yet
		`spdl_round{chain_id="spdl-localnet"} 5`, `spdl_finished{chain_id="spdl-localnet"} 1`,
		`spdl_rounds_closed_total{chain_id="spdl-localnet"} 5`,
		`cometbft_p2p_peers{chain_id="spdl-localnet"} 3`, `spdl_epsilon_spent{chain_id="spdl-localnet",participant="3"}`,
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		answer, err := http.Get("http://127.0.10.3:26660/metrics")
		if !assert.NoError(c, err) {
			return
		}
		defer func() { _ = answer.Body.Close() }()
		exported, err := io.ReadAll(answer.Body)
		assert.NoError(c, err)
		for _, line := range lines {
			assert.Contains(c, string(exported), line)
		}
	}, 3*time.Minute, 100*time.Millisecond)

	report, stderr, code := spdl(t, "audit", "replay", "--node", node, "-o", "json")
	require.Zero(t, code, stderr)
	require.Contains(t, report, `"divergence": null`)
	require.Contains(t, report, `"rounds": 5,`)
	require.Contains(t, report, `"tip_checked": true`)
}
