package admission

import (
	"net"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
)

// WarnDuplicateIP warns about a host that several persistent peers share while p2p.allow_duplicate_ip is false. With
// that setting CometBFT keeps only one connection to an address, so this node never connects to all of these peers.
func WarnDuplicateIP(logger log.Logger, c *config.P2PConfig) {
	if c.AllowDuplicateIP {
		return
	}
	peers := map[string]int{}
	for _, peer := range strings.Split(c.PersistentPeers, ",") {
		_, address, _ := strings.Cut(strings.TrimSpace(peer), "@")
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			continue // CometBFT itself rejects an entry without host and port
		}
		if peers[host]++; peers[host] == 2 {
			logger.Warn("persistent peers share a host, want p2p.allow_duplicate_ip = true: one of them is connected at a time",
				"host", host)
		}
	}
}
