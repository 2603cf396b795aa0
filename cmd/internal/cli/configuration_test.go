package cli

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/viper"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/cli/command"
)

const docs = "../../../docs/"

// TestUnit: docs/spdl.service starts a command that exists, does not start a program again that
// asks for another release, and systemd understands it.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile(docs + "spdl.service")
	require.NoError(t, err)
	value := func(key string) string {
		m := regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(string(text), -1)
		require.Len(t, m, 1, key)
		return m[0][1]
	}
	line := strings.Fields(value("ExecStart"))
	cmd, rest, err := Root(io.Discard, io.Discard).Find(line[1:])
	require.NoError(t, err)
	require.Equal(t, "spdl start", cmd.CommandPath())
	require.Empty(t, rest)
	require.Equal(t, strconv.Itoa(command.Upgrade), value("RestartPreventExitStatus"))
	require.Equal(t, "SPDL_HOME=/var/lib/"+value("StateDirectory"), value("Environment"))

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	unit := filepath.Join(t.TempDir(), "spdl.service")
	require.NoError(t, os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), line[0], self)), 0o600))
	out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), unit, "a warning")
}

// TestPorts: the table of ports in docs/CONFIGURATION.md has every address of a home's
// configuration, with its default.
func TestPorts(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	_, stderr, code := spdl(t, "init", "--home", home)
	require.Zero(t, code, stderr)
	manual, err := os.ReadFile(docs + "CONFIGURATION.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| (\\d+/tcp|none) \\| [^|]*\\| [^|]*`([a-z0-9_.]+addr|proxy_app)`[^|]*\\| "+
		"([^|]*) \\|").FindAllStringSubmatch(string(manual), -1)
	table := map[string][]string{}
	for _, row := range rows {
		table[row[2]] = []string{row[1], row[3]}
	}
	address := regexp.MustCompile(`addr$|^proxy_app$`)
	for _, file := range []string{"config.toml", "app.toml"} {
		v := viper.New()
		v.SetConfigFile(filepath.Join(home, "config", file))
		require.NoError(t, v.ReadInConfig())
		for _, key := range v.AllKeys() {
			if !address.MatchString(key) {
				continue
			}
			port, says := "none", "off"
			if value := v.GetString(key); value != "" {
				var host string
				host, port, err = net.SplitHostPort(strings.TrimPrefix(value, "tcp://"))
				require.NoError(t, err, key)
				port += "/tcp"
				if says = host; host == "" || host == "0.0.0.0" {
					says = "all interfaces"
				}
			}
			require.Contains(t, table, key, "a row of %s", file)
			require.Equal(t, port, table[key][0], key)
			if key != "proxy_app" { // nobody listens there
				require.Contains(t, table[key][1], says, key)
			}
			delete(table, key)
		}
	}
	require.Empty(t, table, "settings that do not exist")
}
