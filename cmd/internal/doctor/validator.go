package doctor

import (
	"bytes"
	"context"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
)

// validator compares the validator key of the home's node with the validator key that the chain has
// for the home's participant, and looks for recent votes.
func validator(ctx context.Context, h *Home) Finding {
	switch {
	case h.App.IsRelay():
		return skip("a relay has no validator")
	case home.IsWorkerGroup(h.Config, h.App):
		return skip("a worker group: spdl query membership shows its participants")
	case h.Config.PrivValidatorListenAddr != "" && !h.runs():
		return skip("a signer has the validator's key, and the node is stopped")
	}
	all, err := h.participants(ctx)
	if err != nil {
		return skip("the chain's participants cannot be read: %v", err)
	}
	p, _ := h.ownParticipant(ctx, all)
	if p == nil || !p.Active || len(p.ConsensusKey) != ed25519.PubKeySize {
		return skip("no validator of the chain is this home's")
	}
	chain := ed25519.PubKey(p.ConsensusKey)
	key, err := h.validatorKey()
	switch {
	case err != nil:
		return skip("the validator's key cannot be read: %v", err)
	case !bytes.Equal(key.Bytes(), chain):
		return fail("stop the node, put the priv_validator_key.json of the chain's key in place, start it; if that key is "+
			"lost, spdl tx rotate --consensus gives the validator a new one", "the chain's validator of participant %d is %s, "+
			"and the key here is of %s: this node signs no block", p.Index, chain.Address(), key.Address())
	case !h.runs():
		return ok("%s, of participant %d; the node is stopped", key.Address(), p.Index)
	}
	return h.votes(ctx, p)
}

// votes asks the running node for the blocks without a vote of a participant's validator.
func (h *Home) votes(ctx context.Context, p *app.Participant) Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	address := ed25519.PubKey(p.ConsensusKey).Address()
	s, err := h.Client.Status(ctx)
	switch {
	case err != nil:
		return skip("the node does not say whether it votes: %v", err)
	case s.Home.IsSilent():
		return warn("see the checks validator signer, peers, peer clocks and disk, and the node's log", "%v, of participant "+
			"%d: no vote of it in the last %d blocks", address, p.Index, s.Home.BlocksSinceVote)
	}
	return ok("%v, of participant %d, votes", address, p.Index)
}

// validatorKey returns the key that signs blocks at the home's node: the key of the running node,
// or the key in the home's file if the node is stopped.
func (h *Home) validatorKey() (crypto.PubKey, error) {
	if h.runs() {
		return h.Node.ValidatorInfo.PubKey, nil
	}
	key, err := home.NewKeystore(h.Config.RootDir, nil).LoadValidatorKey(h.Config.PrivValidatorKeyFile())
	if err != nil {
		return nil, err
	}
	return ed25519.PrivKey(key).PubKey(), nil
}
