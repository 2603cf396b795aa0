package sim

import (
	"crypto/ed25519"
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// index returns the index of the node's participant in the node's own state.
func (node *Node) index() (uint32, error) {
	p, ok := node.App.State().Find(node.keys.Public())
	if !ok {
		return 0, fmt.Errorf("node %d is no active participant", node.Index)
	}
	return p.Index, nil
}

// submit signs a transaction and broadcasts it, and returns the rejection by the node itself.
func (node *Node) submit(body tx.Body) (*tx.Tx, error) {
	t, err := tx.Sign(ChainID, body, node.keys.Signing)
	if err == nil {
		err = node.net.broadcast(node, t.Raw)
	}
	return t, err
}

// nonce returns one more than the participant's last nonce.
func (node *Node) nonce() uint64 {
	p, _ := node.App.State().Find(node.keys.Public())
	return p.Nonce + 1
}

// by submits a transaction that the node's participant has signed.
func (node *Node) by(body func(index uint32) tx.Body) (*tx.Tx, error) {
	index, err := node.index()
	if err != nil {
		return nil, err
	}
	return node.submit(body(index))
}

// Join requests membership; with workerOnly it names no validator.
func (node *Node) Join(workerOnly bool) (*tx.Tx, error) {
	who := node.Identity()
	j := &tx.Join{
		PubKey: who.PubKey, VrfKey: who.VrfKey, VrfProof: app.ProveVRFKey(ChainID, who.PubKey, node.keys.VRF),
		ConsensusKey: who.ConsensusKey, ConsensusProof: app.ProveConsensusKey(ChainID, who.PubKey, node.validator),
		Moniker: who.Moniker,
	}
	if workerOnly {
		j.ConsensusKey, j.ConsensusProof = nil, nil
	}
	return node.submit(j)
}

// Approve approves the proposal of a transaction.
func (node *Node) Approve(proposal []byte) (*tx.Tx, error) {
	return node.by(func(i uint32) tx.Body {
		return &tx.Approve{Participant: i, Proposal: proposal, Revocations: node.revocations()}
	})
}

// Withdraw takes the approval of the proposal of a transaction back.
func (node *Node) Withdraw(proposal []byte) (*tx.Tx, error) {
	return node.by(func(i uint32) tx.Body {
		return &tx.Withdraw{Participant: i, Proposal: proposal, Revocations: node.revocations()}
	})
}

// revocations returns the participant's revocations.
func (node *Node) revocations() uint64 {
	p, _ := node.App.State().Find(node.keys.Public())
	return p.Revocations
}

// Leave ends the membership.
func (node *Node) Leave() (*tx.Tx, error) {
	return node.by(func(i uint32) tx.Body { return &tx.Remove{Participant: i, Subject: i, Nonce: node.nonce()} })
}

// Restore proposes to restore the reputation of a participant whose reputation is 0.
func (node *Node) Restore(subject uint32) (*tx.Tx, error) {
	return node.by(func(i uint32) tx.Body { return &tx.Restore{Participant: i, Subject: subject, Nonce: node.nonce()} })
}

// Remove proposes to end another participant's membership.
func (node *Node) Remove(subject uint32) (*tx.Tx, error) {
	return node.by(func(i uint32) tx.Body { return &tx.Remove{Participant: i, Subject: subject, Nonce: node.nonce()} })
}

// StartEpoch proposes the next epoch.
func (node *Node) StartEpoch(p params.Params, keepModel, now bool) (*tx.Tx, error) {
	return node.by(func(i uint32) tx.Body {
		return app.NewStartEpoch(i, node.nonce(), node.App.State().Progress.Epoch+1, p, keepModel, now)
	})
}

// Upgrade proposes a version of the state machine from a height on; height and version 0 cancel the
// upgrade.
func (node *Node) Upgrade(name string, height, version uint64) (*tx.Tx, error) {
	return node.by(func(i uint32) tx.Body {
		return &tx.Upgrade{Participant: i, Nonce: node.nonce(), Name: name, Height: height, Version: version}
	})
}

// Rotate replaces all keys of the participant. The node signs with the old keys until Rekey is
// called, which should be when the chain has the new keys.
func (node *Node) Rotate(generation int) (*tx.Tx, error) {
	next := node.net.config.keys(node.Index, generation)
	pub := next.Public()
	return node.by(func(i uint32) tx.Body {
		return &tx.Rotate{
			Participant: i, Nonce: node.nonce(), PubKey: pub, PubKeyProof: app.ProveRotation(ChainID, i, next.Signing),
			VrfKey: next.VRF.Public().(ed25519.PublicKey), VrfProof: app.ProveVRFKey(ChainID, pub, next.VRF),
		}
	})
}

// Rekey makes the node sign with the keys of a generation.
func (node *Node) Rekey(generation int) { node.keys = node.net.config.keys(node.Index, generation) }

// Member reports whether the node's key belongs to an active participant, in the node's own state.
func (node *Node) Member() bool {
	_, err := node.index()
	return err == nil
}
