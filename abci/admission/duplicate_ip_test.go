package admission

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"
)

func TestWarnsOfPersistentPeersThatShareAHost(t *testing.T) {
	for peers, want := range map[string]int{
		"":                               0,
		"aa@10.0.0.1:1":                  0,
		"aa@10.0.0.1:1,bb@10.0.0.2:1":    0,
		"aa@127.0.0.1:1, bb@127.0.0.1:2": 1,
		"aa@127.0.0.1:1,bb@127.0.0.1:2,cc@127.0.0.1:3":           1,
		"aa@h:1,bb@h:2,cc@[::1]:3,dd@[::1]:4,not an address,x@y": 2,
	} {
		var out bytes.Buffer
		c := config.DefaultP2PConfig()
		c.PersistentPeers = peers
		WarnDuplicateIP(log.NewTMLogger(&out), c)
		require.Equal(t, want, strings.Count(out.String(), "share a host"), peers)
		out.Reset()
		c.AllowDuplicateIP = true
		WarnDuplicateIP(log.NewTMLogger(&out), c)
		require.Empty(t, out.String())
	}
}
