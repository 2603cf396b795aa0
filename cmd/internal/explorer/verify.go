package explorer

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
)

// verifying completes a command of spdl verify by the last header but one that the explorer knows,
// and by the node. Words in capitals stand for what it does not know.
func (s *Server) verifying(ctx context.Context, command string) string {
	height, hash := "HEIGHT", "HASH"
	if status, _, _, err := s.tail.now(); err == nil && status.Height > 1 {
		at := int64(status.Height) - 1
		if metas, err := s.source.metas(ctx, at, at); err == nil && len(metas) == 1 {
			height, hash = fmt.Sprint(at), metas[0].BlockID.Hash.String()
		}
	}
	return fmt.Sprintf("spdl verify %s --trust-height %s --trust-hash %s --node %s", command, height, hash, s.node)
}

// shownNode returns a node's RPC address as pages show it: an address of another machine than the
// explorer's is the operator's affair, and reads NODE.
func shownNode(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "NODE"
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
		return "tcp://" + u.Host
	}
	return "NODE"
}
