package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/app"
)

// errStranger rejects a node that neither a member nor the operator has named.
var errStranger = fmt.Errorf("%w: no member's node", app.ErrNotParticipant)

// admissionPause is the interval at which a node checks whether its peers are still admitted, and
// whether app.toml has changed.
const admissionPause = 5 * time.Second

// admission decides which nodes may connect: the nodes of active members, the persistent peers of
// config.toml, and p2p.allowed_peers of app.toml. A chain is open until each active member with a
// validator has named its nodes, and so is a node with p2p.members_only = false.
type admission struct {
	file    string // app.toml
	open    bool
	named   map[p2p.ID]bool   // the persistent peers
	genesis []app.Participant // the members until there is a state
	state   func() *app.State
	doors   *doors
	dialled string // the persistent peers with their addresses

	mu      sync.Mutex
	allowed map[p2p.ID]bool
	read    time.Time // the modification time of app.toml when it was last read
	members map[p2p.ID]bool
	closed  bool
	of      *app.State // the state from which members and closed were computed
}

func newAdmission(c *config.Config, a P2PConfig, genesis []app.Participant, state func() *app.State) *admission {
	ad := &admission{
		file: filepath.Join(c.RootDir, "config", "app.toml"), open: !a.MembersOnly, named: persistent(c.P2P), genesis: genesis, state: state,
		doors: newDoors(), dialled: c.P2P.PersistentPeers, allowed: peerIDs(a.AllowedPeers),
	}
	if info, err := os.Stat(ad.file); err == nil {
		ad.read = info.ModTime()
	}
	return ad
}

// peerIDs parses a list of node ids separated by commas.
func peerIDs(list string) map[p2p.ID]bool {
	ids := map[p2p.ID]bool{}
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.ToLower(strings.TrimSpace(id)); id != "" {
			ids[p2p.ID(id)] = true
		}
	}
	return ids
}

// current brings the members up to date. The caller holds the lock.
func (ad *admission) current() {
	s := ad.state()
	if ad.members != nil && s == ad.of {
		return
	}
	all := ad.genesis
	if s != nil {
		all = s.Participants
	}
	ids, closed := app.Nodes(all)
	ad.members, ad.closed, ad.of = make(map[p2p.ID]bool, len(ids)), closed, s
	for _, id := range ids {
		ad.members[p2p.ID(id)] = true
	}
}

// closes reports whether strangers are kept out.
func (ad *admission) closes() bool {
	ad.mu.Lock()
	defer ad.mu.Unlock()
	ad.current()
	return ad.closed && !ad.open
}

// trusts reports whether a member or this node's operator has named a node. The number of trusted
// nodes is bounded, that of strangers is not.
func (ad *admission) trusts(id p2p.ID) bool {
	ad.mu.Lock()
	defer ad.mu.Unlock()
	ad.current()
	return ad.named[id] || ad.allowed[id] || ad.members[id]
}

// admit returns an error for a node that may not connect.
func (ad *admission) admit(id string) error {
	if ad.closes() && !ad.trusts(p2p.ID(strings.ToLower(id))) {
		return fmt.Errorf("%w: %s (p2p.allowed_peers of app.toml lets in others)", errStranger, id)
	}
	return nil
}

// opens rejects a connection before its handshake if strangers are kept out and too many
// connections come from unknown addresses.
func (ad *admission) opens(address string) error {
	if !ad.closes() {
		return nil
	}
	return ad.doors.opens(address)
}

// reread reads p2p.allowed_peers again if app.toml has changed, so that a newcomer is let in
// without a restart.
func (ad *admission) reread(logger log.Logger) {
	info, err := os.Stat(ad.file)
	if err != nil || info.ModTime().Equal(ad.read) {
		return
	}
	ad.read = info.ModTime()
	v := viper.New()
	v.SetConfigFile(ad.file)
	if err := v.ReadInConfig(); err != nil {
		logger.Error("app.toml was changed and cannot be read; p2p.allowed_peers stays as it was", "err", err)
		return
	}
	list := v.GetString("p2p.allowed_peers")
	if err := checkPeerIDs(list); err != nil {
		logger.Error("app.toml was changed; p2p.allowed_peers stays as it was", "err", err)
		return
	}
	ad.mu.Lock()
	defer ad.mu.Unlock()
	ad.allowed = peerIDs(list)
}

// watch disconnects peers that are no longer admitted, until quit is closed.
func (ad *admission) watch(sw p2p.Switcher, logger log.Logger, quit <-chan struct{}) {
	go ad.doors.resolve(ad.dialled, quit)
	tick := time.NewTicker(admissionPause)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		ad.reread(logger)
		peers := sw.Peers().Copy()
		ad.doors.meets(peers, ad.trusts)
		for _, peer := range peers {
			if err := ad.admit(string(peer.ID())); err != nil {
				sw.StopPeerForError(peer, err)
			}
		}
	}
}
