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

// minInbound is the min value of CometBFT's max_num_inbound_peers on a node that admits no
// strangers; Configure raises a smaller value to minInbound. CometBFT counts a connection for up to
// six seconds before the peer has identified itself, so silent connections occupy places.
const minInbound = 256

// noListener is the listen address of a node with an empty p2p.laddr. CometBFT does not start without a listener, so
// the node listens on a loopback address, on a port that it does not announce.
const noListener = "tcp://127.0.0.1:0"

// Configure returns a configuration with which CometBFT asks the application before it admits a
// peer. Members, relays, persistent peers and allowed peers can connect even if strangers occupy
// all inbound connections. CometBFT gets no persistent peers: the network dials Peers.
func Configure(c *config.Config, ad *Control, own p2p.ID) *config.Config {
	fitted, peers := *c, *c.P2P
	fitted.P2P, fitted.FilterPeers = &peers, true
	// persistentIDs does not get the peers that are taken from the chain, because those are admitted
	// only while they are members.
	ad.own, ad.persistentIDs = own, peerIDsOf(SplitList(AddRelays(peers.PersistentPeers, ad.relays, own)))
	peers.PersistentPeers = ""
	if peers.ListenAddress == "" {
		peers.ListenAddress, peers.ExternalAddress, peers.PexReactor = noListener, "", false
	}
	closed := ad.isClosed()
	known := peerIDs(peers.UnconditionalPeerIDs)
	maps.Copy(known, ad.persistentIDs)
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
		peers.MaxNumInboundPeers = max(peers.MaxNumInboundPeers, minInbound)
	}
	return &fitted
}

// Peers returns the nodes that this node dials, as id@host:port: the persistent peers in config.toml or, if there are
// none, the active members at their registered addresses. The relays are always among them, this node never.
func (ad *Control) Peers() []string {
	named := ad.persistentPeers
	if strings.TrimSpace(named) == "" {
		all := ad.genesis
		if s := ad.state(); s != nil {
			all = s.Participants
		}
		named = strings.Join(Addresses(all, ad.own), ",")
	}
	return slices.DeleteFunc(SplitList(AddRelays(named, ad.relays, ad.own)), func(peer string) bool {
		return ad.own != "" && strings.HasPrefix(strings.ToLower(peer), string(ad.own)+"@")
	})
}

// PeerIDs returns the ids of Peers.
func (ad *Control) PeerIDs() map[p2p.ID]bool { return peerIDsOf(ad.Peers()) }

// AddRelays returns the entries of the list peers, followed by the entries of the list relays. It
// leaves out relays that peers already has, and the relay whose id is own, this node's id. The
// entries of both lists have the form id@host:port and are separated by commas.
func AddRelays(peers, relays string, own p2p.ID) string {
	all := SplitList(peers)
	named := peerIDsOf(all)
	for _, relay := range SplitList(relays) {
		if id := p2p.ID(strings.ToLower(relay[:strings.Index(relay, "@")])); id != own && !named[id] {
			all = append(all, relay)
		}
	}
	return strings.Join(all, ",")
}

// SplitList returns the entries of a list that is separated by commas.
func SplitList(list string) (entries []string) {
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// CheckRelays returns an error if an entry of list, a comma-separated list of relays, does not have
// the form id@host:port. It does not resolve the hosts.
func CheckRelays(list string) error { return CheckAddresses("p2p.relays", list) }

// CheckAddresses checks list, a comma-separated list of nodes that is the value of the given
// configuration key. It returns an error if a node does not have the form id@host:port.
func CheckAddresses(key, list string) error {
	for _, node := range SplitList(list) {
		id, at, ok := strings.Cut(node, "@")
		host, port, err := net.SplitHostPort(at)
		n, number := strconv.ParseUint(port, 10, 16)
		if !ok || err != nil || number != nil || host == "" || n == 0 || strings.Contains(node, " ") ||
			checkPeerID(strings.ToLower(id)) != nil {
			return fmt.Errorf("%s names %q, want id@host:port with an id of %d hex digits, separated by commas", key, node,
				2*p2p.IDByteLength)
		}
	}
	return nil
}

// Addresses returns the registered addresses of the nodes of active members, except this node's. A
// member can register any text as its address. Addresses returns only texts of the form
// id@host:port in which id is a registered node of the member.
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

// CheckPeerIDs returns an error if CometBFT cannot parse an entry of list, a comma-separated list of node ids.
func CheckPeerIDs(list string) error {
	for id := range peerIDs(list) {
		if checkPeerID(string(id)) != nil {
			return fmt.Errorf("p2p.allowed_peers names %q, want node ids of %d hex digits, separated by commas", id,
				2*p2p.IDByteLength)
		}
	}
	return nil
}

// checkPeerID rejects a text that is not a node id.
func checkPeerID(id string) error {
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != p2p.IDByteLength {
		return fmt.Errorf("%q is no node id", id)
	}
	return nil
}

// WarnOpen logs a warning, with the reason, if any node may connect to this node.
func WarnOpen(logger log.Logger, ad *Control, all []app.Participant) {
	if len(all) < 2 || ad.isClosed() {
		return
	}
	if ad.isOpen() {
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
