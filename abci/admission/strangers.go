package admission

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/internal/memo"
)

const (
	// strangerPause is the min time between two log lines about the same stranger, a node that may not
	// connect. lineInterval is the min time between two lines about any strangers, so that connections
	// with many ids do not fill the log.
	strangerPause, lineInterval = 10 * time.Minute, 10 * time.Second
	// maxStrangers is the max number of strangers that strangerLog remembers.
	maxStrangers = 1 << 10
)

// strangerLog remembers which rejected nodes were logged, and when. Control.mu guards it.
type strangerLog struct {
	logged *memo.LRU[p2p.ID, time.Time]
	line   time.Time // the time of the last line
}

func newStrangerLog() strangerLog {
	return strangerLog{logged: memo.NewLRU[p2p.ID, time.Time](maxStrangers, nil)}
}

// shouldLog reports whether to log the rejection of a node now. If so, it records that the node was logged.
func (s *strangerLog) shouldLog(id p2p.ID, now time.Time) bool {
	if last, known := s.logged.Get(id); known && now.Sub(last) < strangerPause || now.Sub(s.line) < lineInterval {
		return false
	}
	s.logged.Add(id, now)
	s.line = now
	return true
}

// Filter returns a filter for the peers of CometBFT's switch. It rejects the nodes that Admit rejects, and logs them.
func (ad *Control) Filter(logger log.Logger) p2p.PeerFilterFunc {
	return func(_ p2p.IPeerSet, peer p2p.Peer) error {
		err := ad.Admit(string(peer.ID()))
		if err != nil {
			ad.rejected.Strangers.Add(1)
			ad.report(peer, logger)
		}
		return err
	}
}

// report logs a rejected node, and the command that would admit it, as often as strangerLog allows.
func (ad *Control) report(peer p2p.Peer, logger log.Logger) {
	ad.mu.Lock()
	due, allowed := ad.strangers.shouldLog(peer.ID(), time.Now()), maps.Clone(ad.allowed)
	ad.mu.Unlock()
	if !due {
		return
	}
	allowed[peer.ID()] = true
	ids := slices.Sorted(maps.Keys(allowed))
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	home := filepath.Dir(filepath.Dir(ad.file))
	logger.Info("a node is rejected: no active member has registered it (spdl tx rotate --nodes), and p2p.allowed_peers "+
		"does not name it", "node", peer.ID(), "address", peer.SocketAddr(), "lets_it_in",
		fmt.Sprintf("spdl config set p2p.allowed_peers %s --home %s", strings.Join(list, ","), home))
}
