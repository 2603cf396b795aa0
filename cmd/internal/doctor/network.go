package doctor

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/probe"
)

// listeners maps keys to the addresses at which the node listens, p2p first.
func (h *Home) listeners() [][2]string {
	c := h.Config
	all := [][2]string{{"p2p.laddr", c.P2P.ListenAddress}, {"rpc.laddr", c.RPC.ListenAddress},
		{"rpc.grpc_laddr", c.RPC.GRPCListenAddress}, {"rpc.pprof_laddr", c.RPC.PprofListenAddress}}
	if c.Instrumentation.IsPrometheusEnabled() {
		all = append(all, [2]string{"instrumentation.prometheus_listen_addr", c.Instrumentation.PrometheusListenAddr})
	}
	if h.App.Explorer.Enabled {
		all = append(all, [2]string{"explorer.laddr", h.App.Explorer.Laddr})
	}
	return slices.DeleteFunc(all, func(l [2]string) bool {
		return l[1] == "" || strings.HasPrefix(l[1], "unix://")
	})
}

// ports finds addresses that are in use although the node is stopped, or that do not answer although the node runs.
func ports(ctx context.Context, h *Home) Finding {
	var wrong, right []string
	for _, l := range h.listeners() {
		if err := port(ctx, hostPort(l[1]), h.runs()); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", l[0], err))
		} else {
			right = append(right, fmt.Sprintf("%s %s", l[0], hostPort(l[1])))
		}
	}
	switch {
	case h.Hangs, !h.runs() && h.isLocked():
		return skip("%s", h.away())
	case h.Twin != "":
		return skip("the check keys is about the node at rpc.laddr, %s", h.Config.RPC.ListenAddress)
	case h.Other != "":
		return fail("give this node an address of its own, or stop the other", "the node %s answers at %s", h.Other, h.RPC)
	case len(wrong) > 0 && h.runs():
		return fail("look at the node's log", "do not answer: %s", strings.Join(wrong, "; "))
	case len(wrong) > 0:
		return fail("give this node an address of its own, or stop what listens there (ss -ltnp)", "%s",
			strings.Join(wrong, "; "))
	case h.runs():
		return ok("answer: %s", strings.Join(right, ", "))
	}
	return ok("free: %s", strings.Join(right, ", "))
}

// port returns an error if an address is in use or, for a running node, if the address does not answer.
func port(ctx context.Context, address string, runs bool) error {
	if !runs {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		return l.Close()
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", hostPort(home.Reachable(address)))
	if err != nil {
		return err
	}
	return c.Close()
}

// peers probes the nodes to which this node connects, and names the connected nodes.
func peers(ctx context.Context, h *Home) Finding {
	wanted, err := h.peerAddresses(ctx)
	connected := h.connected(ctx)
	hint, closedBy := h.closedHint(ctx)
	switch {
	case err != nil && len(closedBy) > 0 && len(connected) == 0:
		return fail(hint, "this node has no state yet and no peer: connections are closed right after the handshake")
	case err != nil:
		return skip("the addresses of others cannot be read: %v", err)
	}
	alone := connected != nil && len(connected) == 0 && h.hasOtherValidators(ctx)
	if len(wanted) == 0 && !alone {
		return skip("no address of another node is known: neither p2p.persistent_peers nor the chain has one")
	}
	silent, answering := h.silentAmong(ctx, wanted)
	found := peersText(len(wanted), silent, connected, alone)
	silentAll := len(silent) == len(wanted) && len(connected) == 0
	if f := h.expectedSilence(ctx, found, silentAll); f.Level != "" && (alone || len(silent) > 0) {
		return f
	}
	if hint != "" && len(connected) == 0 {
		return fail(hint, "%s; connections are closed right after the handshake", found)
	}
	remedy := "check addresses, firewalls and that their nodes run; spdl consortium status asks each from outside; " +
		"the others' nodes have to let this one in (spdl tx rotate --nodes, p2p.allowed_peers)"
	closed, stale := absentAmong(answering, connected, closedBy)
	if len(closed) > 0 {
		found += "; the connection is closed right after the handshake by " + strings.Join(closed, ", ")
		remedy = hint
	} else if len(stale) > 0 {
		found += "; the node runs with an older look-up: it is not connected to " + strings.Join(stale, ", ")
		remedy = "the node looks these names up every few seconds, and its log has the resolver's error: compare its " +
			"/etc/resolv.conf and /etc/hosts with those here, as of a container, or start it again"
	}
	switch {
	case alone, silentAll:
		return fail(remedy, "%s", found)
	case len(silent)+len(closed)+len(stale) > 0:
		return warn(remedy, "%s", found)
	}
	return ok("%s", found)
}

// peersText describes the wanted nodes, of which some are silent, and the connected ones, nil if the node is stopped.
func peersText(wanted int, silent []string, connected map[string]string, alone bool) string {
	found := fmt.Sprintf("%d of %d nodes answer", wanted-len(silent), wanted)
	if connected != nil {
		found += fmt.Sprintf(", %d are connected", len(connected))
	}
	if len(connected) > 0 {
		found += " (" + strings.Join(slices.Sorted(maps.Values(connected)), ", ") + ")"
	}
	if alone {
		found += ", and the chain has other validators"
	}
	if len(silent) > 0 {
		found += "; " + strings.Join(silent, "; ")
	}
	return found
}

// expectedSilence returns a finding if other nodes need not answer: the home's participant is no member any more, or
// the chain may not have begun and no node answers. Otherwise the finding has no level.
func (h *Home) expectedSilence(ctx context.Context, found string, all bool) Finding {
	if gone := h.gone(ctx); gone != "" {
		return warn("stop the node; a member that wants it to follow the chain adds its id to p2p.allowed_peers", "%s; %s: "+
			"the members' nodes reject this one", found, gone)
	}
	if all && !h.runs() && !h.hasData() {
		return warn("start it: the chain begins when more than two thirds of its validators run; spdl consortium status "+
			"asks each from outside", "%s; this node was never started, and the others need not run before the chain "+
			"begins", found)
	}
	return Finding{}
}

// absentAmong returns the nodes that answer this process and are not among the connected peers of the running node, by
// id: those that closed its connections, and other ones at names, as this process looks them up.
func absentAmong(answering []string, connected map[string]string, closedBy []string) (closed, stale []string) {
	for _, address := range answering {
		id, at, _ := strings.Cut(strings.ToLower(address), "@")
		host, _, _ := net.SplitHostPort(at)
		if _, ok := connected[id]; connected == nil || ok {
			continue
		}
		if slices.Contains(closedBy, id) {
			closed = append(closed, at)
		} else if net.ParseIP(host) == nil {
			stale = append(stale, at)
		}
	}
	return closed, stale
}

// silentAmong probes all nodes at once. It returns the addresses of the nodes that do not answer, with their members
// and the reasons, and of those that do.
func (h *Home) silentAmong(ctx context.Context, addresses []string) (silent, answering []string) {
	of := map[string]string{}
	all, _ := h.participants(ctx) // without them nodes have no names
	for _, p := range all {
		for _, id := range p.NodeIds {
			of[id] = strconv.Quote(p.Moniker) + " at "
		}
	}
	for i, err := range probe.Nodes(ctx, addresses) {
		if err == nil {
			answering = append(answering, addresses[i])
			continue
		}
		id, at, _ := strings.Cut(addresses[i], "@")
		silent = append(silent, of[strings.ToLower(id)]+at+" "+err.Error())
	}
	return silent, answering
}

// closedHint returns the hint of query.Connections, and the ids of the nodes that close the running node's connections
// right after the handshake.
func (h *Home) closedHint(ctx context.Context) (hint string, closedBy []string) {
	if !h.runs() {
		return "", nil
	}
	c, _ := h.Client.Connections(ctx) // an empty view if the node does not answer
	id := string(h.Node.NodeInfo.ID())
	all, err := h.participants(ctx)
	ids, _ := app.Nodes(all, math.MaxUint64)
	if err == nil && len(c.ClosedBy) > 0 && c.MissingBlock == 0 && slices.Contains(ids, id) {
		return "the members admit the id of this node, " + id + ", and close its connections: another node with this id is " +
			"connected to them, of a copy of this home or a restored one: find it, and stop one of the two for good", c.ClosedBy
	}
	return c.Hint(id), c.ClosedBy
}

// peerAddresses returns the persistent peers. If there are none, it returns the addresses that the
// active participants registered, as a node does. It adds the relays in both cases, and leaves out the home's node.
func (h *Home) peerAddresses(ctx context.Context) ([]string, error) {
	named, own := h.Config.P2P.PersistentPeers, h.publicID()
	if strings.TrimSpace(named) == "" {
		all, err := h.participants(ctx)
		if err != nil {
			return nil, err
		}
		named = strings.Join(admission.Addresses(all, own), ",")
	}
	all, c := admission.SplitList(admission.AddRelays(named, h.App.P2P.Relays, own)), h.Config.P2P
	return slices.DeleteFunc(all, func(peer string) bool {
		id, at, named := strings.Cut(peer, "@")
		return named && (strings.EqualFold(id, string(own)) || at == hostPort(c.ExternalAddress) ||
			at == hostPort(c.ListenAddress))
	}), nil
}

// hasOtherValidators reports whether the chain has an active participant with a validator, other
// than the home's participant and the participant with the running node's validator key.
func (h *Home) hasOtherValidators(ctx context.Context) bool {
	all, err := h.participants(ctx)
	if err != nil {
		return false
	}
	participant, _ := h.ownParticipant(ctx, all)
	var own []byte
	if key := h.Node.ValidatorInfo.PubKey; key != nil {
		own = key.Bytes()
	}
	return slices.ContainsFunc(all, func(p app.Participant) bool {
		return p.Active && len(p.ConsensusKey) > 0 && !bytes.Equal(p.ConsensusKey, own) &&
			(participant == nil || p.Index != participant.Index)
	})
}

// connected returns the names of the peers of a running node, by id, or nil if the node does not answer.
func (h *Home) connected(ctx context.Context) map[string]string {
	if !h.runs() {
		return nil
	}
	info, err := h.Client.RPC().NetInfo(ctx)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, p := range info.Peers {
		out[string(p.NodeInfo.ID())] = strconv.Quote(p.NodeInfo.Moniker)
	}
	return out
}

// The check warns if this clock is more than warnClock away from the median of the peers' clocks,
// and fails beyond failClock. A node itself warns beyond failClock.
const (
	warnClock = time.Second
	failClock = 10 * time.Second
)

// peerClocks compares this clock with those of the peers, as the running node has measured them.
func peerClocks(ctx context.Context, h *Home) Finding {
	if !h.runs() {
		return skip("%s; it measures the clocks of its peers while it runs", h.away())
	}
	measured, err := h.Client.Clocks(ctx)
	switch {
	case err != nil:
		return skip("the node does not say: %v", err)
	case len(measured) == 0:
		return skip("no peer's clock is measured yet")
	}
	ahead := make([]float64, len(measured))
	for i, m := range measured {
		ahead[i] = m.AheadMs
	}
	slices.Sort(ahead)
	median := time.Duration(ahead[len(ahead)/2] * float64(time.Millisecond)).Round(time.Millisecond)
	const remedy = "synchronise this host's clock (chrony, systemd-timesyncd); if it is right, tell the others"
	off, direction := median.Abs(), "ahead"
	if median < 0 {
		direction = "behind"
	}
	found := fmt.Sprintf("the clocks of %d peers are %v %s, by their median", len(measured), off, direction)
	switch {
	case off > failClock:
		return fail(remedy, "%s", found)
	case off > warnClock:
		return warn(remedy, "%s", found)
	}
	return ok("%s", found)
}

// lastBlock examines who votes if the last block is older than three timeouts of a proposal, or if the chain has none.
// It warns, and beyond client.Overdue fails, without a quorum; it warns of an older block with a quorum, too. It fails
// if the peers have dropped the block that the node needs.
func lastBlock(ctx context.Context, h *Home) Finding {
	if !h.runs() {
		return skip("%s", h.away())
	}
	view, _ := h.Client.Connections(ctx) // an empty view if the node does not answer
	if gap, remedy := view.Gap(); gap != "" {
		return fail(remedy, "%s", gap)
	}
	at := h.Node.SyncInfo
	age, found := time.Since(at.LatestBlockTime), "the chain has no block yet"
	if at.LatestBlockHeight > 0 {
		found = fmt.Sprintf("last block %d, %v ago", at.LatestBlockHeight, age.Round(100*time.Millisecond))
	} else if _, err := h.Client.Status(ctx); err != nil { // it says how far a state sync is
		return skip("the node has no block yet: %v", err)
	}
	switch {
	case at.CatchingUp && at.LatestBlockHeight == 0:
		return skip("the node has no block yet, and fetches those of its peers")
	case at.CatchingUp:
		return ok("the node catches up: %s", found)
	case at.LatestBlockHeight > 0 && age <= 3*h.Config.Consensus.TimeoutPropose:
		return ok("%s", found)
	}
	if gone := h.gone(ctx); gone != "" {
		return warn("stop the node: it takes no part; another member's node shows the chain (spdl query status --node)",
			"%s; %s: the members' nodes send this one no blocks", found, gone)
	}
	const remedy = "more than two thirds of the validators have to run and be connected: ask those that do not vote"
	participants, _ := h.participants(ctx) // without them validators have no names
	votes, err := client.ReadVotes(ctx, h.Client.RPC(), participants)
	waits := time.Since(votes.Since)
	switch {
	case err != nil:
		return warn(remedy, "%s; the votes cannot be read: %v", found, err)
	case votes.Fetches(), votes.Proposing:
		return ok("%s; %s", found, votes.Standstill())
	case votes.Lost() && waits > client.Overdue: // not of a chain that starts again
		return fail(remedy, "%s; %s", found, votes.Standstill())
	case votes.Lost() && waits > 3*h.Config.Consensus.TimeoutPropose, age > client.Overdue && at.LatestBlockHeight > 0:
		return warn(remedy, "%s; %s", found, votes.Standstill())
	}
	return ok("%s; %s", found, votes)
}
