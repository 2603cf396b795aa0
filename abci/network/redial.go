package network

import (
	"context"
	"strings"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
)

// redialInterval is the time between two attempts to connect to missing persistent peers.
const redialInterval = 15 * time.Second

// dialer is the part of CometBFT's switch that redial needs.
type dialer interface {
	Peers() p2p.IPeerSet
	DialPeerWithAddress(address *p2p.NetAddress) error
}

var _ dialer = (*p2p.Switch)(nil)

// redial dials the missing persistent peers every redialInterval until ctx is done, and warns when
// the set of missing peers has changed. CometBFT v0.40.0 also redials, but has two gaps. If a peer
// closes the connection before the dial returns, for example because it does not admit this node
// yet, CometBFT never dials that peer again. And after twenty failed attempts CometBFT waits up to
// hours between attempts.
func redial(ctx context.Context, sw dialer, persistent string, closes *earlyCloses, logger log.Logger) {
	all := addressesOf(persistent)
	warned := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(redialInterval):
		}
		now := strings.Join(dialMissing(ctx, sw, all, closes, logger), ",")
		if now != warned && ctx.Err() == nil {
			warnMissing(logger, now)
			warned = now
		}
	}
}

// addressesOf returns the valid addresses of a comma-separated list.
func addressesOf(list string) (all []*p2p.NetAddress) {
	for peer := range strings.SplitSeq(list, ",") {
		if address, err := p2p.NewNetAddressString(strings.TrimSpace(peer)); err == nil {
			all = append(all, address)
		}
	}
	return all
}

// dialMissing dials the peers that are not connected, and returns the addresses of the peers that
// it could not reach.
func dialMissing(ctx context.Context, sw dialer, all []*p2p.NetAddress, closes *earlyCloses,
	logger log.Logger) (missing []string) {
	for _, address := range all {
		if sw.Peers().Has(address.ID) || ctx.Err() != nil {
			continue
		}
		err := sw.DialPeerWithAddress(address)
		if err == nil {
			continue
		}
		switch {
		case isClosedByPeer(err):
			closes.note(address.ID)
		case isUnreachable(err):
			closes.forget(address.ID)
		}
		logger.Debug("persistent peer not reached", "peer", address, "err", err)
		missing = append(missing, address.String())
	}
	return missing
}

// warnMissing warns about the listed persistent peers, which are not connected. If the list is
// empty, it logs that all persistent peers are connected again.
func warnMissing(logger log.Logger, missing string) {
	if missing == "" {
		logger.Info("all persistent peers are connected")
		return
	}
	logger.Warn("persistent peers not connected, they are dialed again: check their addresses and firewalls, that they "+
		"run, and that they admit this node (spdl show-node-id)", "peers", missing)
}
