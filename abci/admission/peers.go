package admission

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/app"
)

// maxHandshakes is the minimum of the limit on inbound connections if strangers are kept out.
// CometBFT counts a connection against that limit before the peer has identified itself, for up to
// six seconds.
const maxHandshakes = 256

// Configure returns a configuration in which CometBFT asks the application which nodes to let in.
// Members, persistent peers and allowed peers get a connection even if the inbound connections are
// all taken by strangers. If config.toml names no persistent peers, Configure sets them to the
// active members at their registered addresses.
func Configure(c *config.Config, ad *Control, own p2p.ID) *config.Config {
	fitted, peers := *c, *c.P2P
	fitted.P2P, fitted.FilterPeers = &peers, true
	all := ad.genesis
	if s := ad.state(); s != nil {
		all = s.Participants
	}
	if strings.TrimSpace(peers.PersistentPeers) == "" {
		peers.PersistentPeers = strings.Join(Addresses(all, own), ",")
		ad.named, ad.persistentPeers = PersistentPeers(&peers), peers.PersistentPeers
	}
	closed := ad.closed()
	known := peerIDs(peers.UnconditionalPeerIDs)
	maps.Copy(known, ad.named)
	maps.Copy(known, ad.allowed)
	maps.Copy(known, ad.members)
	delete(known, own)
	var ids []string
	for id := range known {
		if CheckPeerIDs(string(id)) == nil { // CometBFT does not start with an invalid id
			ids = append(ids, string(id))
		}
	}
	slices.Sort(ids)
	peers.UnconditionalPeerIDs = strings.Join(ids, ",")
	if closed {
		peers.MaxNumInboundPeers = max(peers.MaxNumInboundPeers, maxHandshakes)
	}
	return &fitted
}

// Addresses returns the registered addresses of active members' nodes, except this node. A member
// may register any text as its address: addresses leaves out an entry that does not name one of the
// member's own nodes.
func Addresses(all []app.Participant, own p2p.ID) (peers []string) {
	for i := range all {
		p := &all[i]
		id, at, ok := strings.Cut(p.Address, "@")
		host, port, err := net.SplitHostPort(at)
		_, number := strconv.ParseUint(port, 10, 16)
		if !ok || err != nil || number != nil || host == "" || strings.ContainsAny(p.Address, ", ") {
			continue
		}
		if p.Active && id != string(own) && slices.Contains(p.NodeIds, id) {
			peers = append(peers, p.Address)
		}
	}
	return peers
}

// CheckPeerIDs rejects a list of node ids, separated by commas, if CometBFT could not parse one of
// them.
func CheckPeerIDs(list string) error {
	for id := range peerIDs(list) {
		if raw, err := hex.DecodeString(string(id)); err != nil || len(raw) != p2p.IDByteLength {
			return fmt.Errorf("p2p.allowed_peers names %q, want node ids of %d hex digits, separated by commas", id,
				2*p2p.IDByteLength)
		}
	}
	return nil
}

// WarnOpen logs that a node lets everybody in, and why.
func WarnOpen(logger log.Logger, ad *Control, all []app.Participant) {
	if len(all) < 2 || ad.closed() {
		return
	}
	if ad.open {
		logger.Warn("p2p.members_only = false: strangers are let in, and a crowd of them can slow this node down")
		return
	}
	var without []string
	for i := range all {
		if p := &all[i]; p.Active && len(p.ConsensusKey) > 0 && len(p.NodeIds) == 0 {
			without = append(without, strconv.Itoa(int(p.Index)))
		}
	}
	logger.Warn("not every validator's participant has registered its node (spdl tx rotate --nodes): strangers are let "+
		"in, and a crowd of them can slow this node down",
		"participants", strings.Join(without, ","))
}
