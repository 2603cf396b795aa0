package network

import (
	"slices"

	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// PeerHeights returns the consensus height that each connected peer reports.
func (n *Network) PeerHeights() map[p2p.ID]int64 {
	heights := map[p2p.ID]int64{}
	n.node.Switch().Peers().ForEach(func(peer p2p.Peer) {
		if at, ok := peer.Get(types.PeerStateKey).(interface{ GetHeight() int64 }); ok {
			heights[peer.ID()] = at.GetHeight()
		}
	})
	return heights
}

// Decided returns the greatest height that is certainly decided, or a value below 0 if there is none. A height is
// certainly decided if the nodes of more than f members report greater heights: at least one of these members is
// honest, and its node has the block. Only members with a validator and a registered node count; f is
// params.MaxByzantine of the number of members with a validator. The handshake proves a peer's node id, so neither
// strangers nor several hosts of one member add to the count.
func Decided(members []app.Participant, heights map[p2p.ID]int64) int64 {
	var reported []int64 // by member: the greatest height of its nodes, 0 if none is connected
	for i := range members {
		p := &members[i]
		if !p.Active || len(p.ConsensusKey) == 0 {
			continue
		}
		height := int64(0)
		for _, id := range p.NodeIds {
			height = max(height, heights[p2p.ID(id)])
		}
		reported = append(reported, height)
	}
	if len(reported) == 0 {
		return -1
	}
	slices.Sort(reported)
	return reported[len(reported)-1-params.MaxByzantine(len(reported))] - 1
}

// peerHeight returns the height of query.Connections.
func (n *Network) peerHeight() (height int64) {
	heights := n.PeerHeights()
	if s := n.state(); s != nil {
		return max(0, Decided(s.Participants, heights))
	}
	for _, at := range heights {
		height = max(height, at-1)
	}
	return height
}
