package explorer

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
)

// verifying completes a command of spdl verify with the last header but one that the explorer
// knows, and with the node. Words in capitals stand for what it does not know.
func (s *Server) verifying(ctx context.Context, command string) string {
	height, hash := s.header(ctx, 0)
	return s.verifyingFrom(height, hash, command)
}

// verifyingFrom completes a command of spdl verify with a height, its block's hash, and the node.
func (s *Server) verifyingFrom(height, hash, command string) string {
	return fmt.Sprintf("spdl verify %s --trust-height %s --trust-hash %s --node %s", command, cmp.Or(height, "HEIGHT"),
		cmp.Or(hash, "HASH"), s.node)
}

// header returns a height and the hash of its block, "" if the node does not know it. Height 0 is
// the last one but one.
func (s *Server) header(ctx context.Context, at int64) (height, hash string) {
	if at == 0 {
		status, _, _, err := s.tail.now()
		if err != nil || status.Height < 2 {
			return "", ""
		}
		at = int64(status.Height) - 1
	}
	metas, err := s.source.metas(ctx, at, at)
	if err != nil || len(metas) != 1 || metas[0].Header.Height != at {
		return "", ""
	}
	return fmt.Sprint(at), metas[0].BlockID.Hash.String()
}

// shownNode returns a node's RPC address as pages show it. It shows an address on another machine
// as NODE, because only the operator needs to know it.
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
