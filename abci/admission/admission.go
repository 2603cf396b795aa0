package admission

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/app"
)

// errStranger is the error for a node that no active member has registered and the operator has not listed.
var errStranger = fmt.Errorf("%w: no member's node", app.ErrNotParticipant)

const (
	// blockPause is the interval at which a node looks for a new block. After each new block it
	// checks whether its peers are still admitted.
	blockPause = 50 * time.Millisecond
	// filePause is the interval at which a node checks whether app.toml has changed.
	filePause = time.Second
)

// Policy holds the settings about peers in the [p2p] section of app.toml.
type Policy struct {
	Open    bool   // whether p2p.members_only is false
	Allowed string // p2p.allowed_peers: node ids, separated by commas
	Relays  string // p2p.relays: id@host:port, separated by commas
}

// Control decides which nodes may connect: the nodes of active members, the persistent peers in config.toml, and the
// relays and p2p.allowed_peers in app.toml. Any node may connect if p2p.members_only is false, and also until every
// active member that runs a validator has registered a node.
type Control struct {
	file            string            // the path of app.toml
	relays          string            // the relays as id@host:port, separated by commas
	persistentIDs   map[p2p.ID]bool   // the ids of the persistent peers, including relays
	genesis         []app.Participant // the participants of the genesis, used while the function state returns nil
	state           func() *app.State
	limiter         *handshakeLimiter
	strangers       strangerLog
	persistentPeers string // p2p.persistent_peers: id@host:port, separated by commas
	own             p2p.ID // this node's id, which Configure sets
	rejected        Rejected

	mu          sync.Mutex
	isPublic    bool
	allowed     map[p2p.ID]bool
	readTime    time.Time // the modification time of app.toml at the last reading
	members     map[p2p.ID]bool
	membersOnly bool
	membersOf   *app.State // the state from which members and membersOnly were computed
}

// Rejected counts the connections that a Control has rejected.
type Rejected struct {
	Strangers  atomic.Int64 // rejected after the handshake, because of the node's id
	Handshakes atomic.Int64 // rejected before the handshake, by handshakeLimiter
}

// Rejected returns the counts of rejected connections.
func (ad *Control) Rejected() *Rejected { return &ad.rejected }

// New returns the admission control of a home. The members are the participants in genesis as long
// as the function state returns nil, and the participants in the returned state afterwards.
func New(c *config.Config, p Policy, genesis []app.Participant, state func() *app.State) *Control {
	ad := &Control{
		file: filepath.Join(c.RootDir, "config", "app.toml"), isPublic: p.Open, relays: p.Relays,
		persistentIDs: peerIDsOf(SplitList(c.P2P.PersistentPeers)), genesis: genesis, state: state,
		limiter: newHandshakeLimiter(), persistentPeers: c.P2P.PersistentPeers, allowed: peerIDs(p.Allowed),
		strangers: newStrangerLog(),
	}
	if info, err := os.Stat(ad.file); err == nil {
		ad.readTime = info.ModTime()
	}
	return ad
}

// peerIDs parses a list of node ids separated by commas.
func peerIDs(list string) map[p2p.ID]bool {
	ids := map[p2p.ID]bool{}
	for _, id := range SplitList(list) {
		ids[p2p.ID(strings.ToLower(id))] = true
	}
	return ids
}

// update recomputes the members if the state has changed. The caller holds the lock.
func (ad *Control) update() {
	s := ad.state()
	if ad.members != nil && s == ad.membersOf {
		return
	}
	all, height := ad.genesis, uint64(0)
	if s != nil {
		all, height = s.Participants, s.Height
	}
	ids, closed := app.Nodes(all, height)
	ad.members, ad.membersOnly, ad.membersOf = make(map[p2p.ID]bool, len(ids)), closed, s
	for _, id := range ids {
		ad.members[p2p.ID(id)] = true
	}
}

// isClosed reports whether only trusted nodes may connect.
func (ad *Control) isClosed() bool {
	ad.mu.Lock()
	defer ad.mu.Unlock()
	ad.update()
	return ad.membersOnly && !ad.isPublic
}

// isOpen reports whether p2p.members_only in app.toml is false, so that any node may connect.
func (ad *Control) isOpen() bool {
	ad.mu.Lock()
	defer ad.mu.Unlock()
	return ad.isPublic
}

// IsStranger reports whether err is or contains errStranger, the error of Admit. It also compares
// texts, because CometBFT passes the error on as text.
func IsStranger(err error) bool {
	return errors.Is(err, errStranger) || strings.Contains(err.Error(), errStranger.Error())
}

// Trusts reports whether a member has registered the node, or this node's operator has listed it.
// Unlike strangers, trusted nodes are bounded in number.
func (ad *Control) Trusts(id p2p.ID) bool {
	ad.mu.Lock()
	defer ad.mu.Unlock()
	ad.update()
	return ad.persistentIDs[id] || ad.allowed[id] || ad.members[id]
}

// Admit returns nil if the node with the given id may connect, and errStranger if not.
func (ad *Control) Admit(id string) error {
	if ad.isClosed() && !ad.Trusts(p2p.ID(strings.ToLower(id))) {
		return fmt.Errorf("%w: %s (p2p.allowed_peers of app.toml lets in others)", errStranger, id)
	}
	return nil
}

// AdmitAddress returns errTooManyHandshakes if a connection from the given address must not begin its handshake,
// because too many unknown addresses connect. It returns nil if strangers may connect.
func (ad *Control) AdmitAddress(address string) error {
	if !ad.isClosed() {
		return nil
	}
	err := ad.limiter.admit(address)
	if err != nil {
		ad.rejected.Handshakes.Add(1)
	}
	return err
}

// AddAddress records that a name of a persistent peer resolves to ip, from which handshakes are not limited.
func (ad *Control) AddAddress(ip string) { ad.limiter.add(ip) }

// reread reads p2p.allowed_peers and p2p.members_only again if app.toml has changed. So an operator
// can admit one node or all nodes without a restart of this node.
func (ad *Control) reread(logger log.Logger) {
	info, err := os.Stat(ad.file)
	if err != nil || info.ModTime().Equal(ad.readTime) {
		return
	}
	ad.readTime = info.ModTime()
	v := viper.New()
	v.SetConfigFile(ad.file)
	v.SetDefault("p2p.members_only", true)
	if err := v.ReadInConfig(); err != nil {
		logger.Error("app.toml was changed and cannot be read; p2p.allowed_peers stays as it was", "err", err)
		return
	}
	list := v.GetString("p2p.allowed_peers")
	if err := CheckPeerIDs(list); err != nil {
		logger.Error("app.toml was changed; p2p.allowed_peers stays as it was", "err", err)
		return
	}
	ad.mu.Lock()
	defer ad.mu.Unlock()
	ad.allowed, ad.isPublic = peerIDs(list), !v.GetBool("p2p.members_only")
}

// Watch disconnects peers that are no longer admitted, after every block and every change of
// app.toml, until quit is closed.
func (ad *Control) Watch(sw p2p.Switcher, logger log.Logger, quit <-chan struct{}) {
	tick := time.NewTicker(blockPause)
	defer tick.Stop()
	var last *app.State
	for lastRead := time.Now(); ; {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		s, due := ad.state(), time.Since(lastRead) >= filePause
		if s == last && !due {
			continue
		}
		if last = s; due {
			lastRead = time.Now()
			ad.reread(logger)
		}
		peers := sw.Peers().Copy()
		ad.limiter.addTrusted(peers, ad.Trusts)
		for _, peer := range peers {
			if err := ad.Admit(string(peer.ID())); err != nil {
				sw.StopPeerForError(peer, err)
			}
		}
	}
}

// peerIDsOf returns the ids of peers, entries of the form id@host:port, in lower case.
func peerIDsOf(peers []string) map[p2p.ID]bool {
	ids := map[p2p.ID]bool{}
	for _, peer := range peers {
		if id, _, ok := strings.Cut(peer, "@"); ok {
			ids[p2p.ID(strings.ToLower(id))] = true
		}
	}
	return ids
}
