package node

import (
	"context"
	"strings"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
)

// redialInterval is the time between two attempts to connect to persistent peers that are missing.
const redialInterval = 15 * time.Second

// dialer is the part of CometBFT's switch that redial needs.
type dialer interface {
	Peers() p2p.IPeerSet
	DialPeerWithAddress(address *p2p.NetAddress) error
}

var _ dialer = (*p2p.Switch)(nil)

// redial connects to the persistent peers that are missing, every redialInterval until ctx is done.
// CometBFT v0.40.0 does so itself, with two gaps: it gives a peer up for good if the peer closes
// the connection before the dial has returned, as it does to a newcomer that it does not let in
// yet; and after twenty attempts it waits for hours.
func redial(ctx context.Context, sw dialer, persistent string, logger log.Logger) {
	var all []*p2p.NetAddress
	for peer := range strings.SplitSeq(persistent, ",") {
		if address, err := p2p.NewNetAddressString(strings.TrimSpace(peer)); err == nil {
			all = append(all, address)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(redialInterval):
		}
		for _, address := range all {
			if sw.Peers().Has(address.ID) || ctx.Err() != nil {
				continue
			}
			if err := sw.DialPeerWithAddress(address); err != nil {
				logger.Debug("persistent peer not reached", "peer", address, "err", err)
			}
		}
	}
}
