package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

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
	if gone := h.gone(ctx); gone != "" {
		return skip("%s: the chain has no validator of this home", gone)
	}
	if p == nil || len(p.ConsensusKey) != ed25519.PubKeySize {
		return skip("no validator of the chain is this home's")
	}
	chain := ed25519.PubKey(p.ConsensusKey)
	key, err := h.validatorKey()
	if err == nil && !bytes.Equal(key.Bytes(), chain) {
		return fail("stop the node, put the priv_validator_key.json of the chain's key in place, start it; if that key is "+
			"lost, spdl tx rotate --consensus gives the validator a new one", "the chain's validator of participant %d is %s, "+
			"and the key here is of %s: this node signs no block", p.Index, chain.Address(), key.Address())
	}
	if pause := h.signPause(); pause != nil {
		return *pause
	}
	switch {
	case err != nil:
		return skip("the validator's key cannot be read: %v", err)
	case !h.runs():
		return h.signState(p, key)
	}
	return h.votes(ctx, p)
}

// signPause returns a finding while the validator signs nothing because its last signature is lost, otherwise nil.
func (h *Home) signPause() *Finding {
	pause, err := home.ReadSignPause(h.Config)
	file := home.SignPauseFile(h.Config)
	var f Finding
	switch {
	case err != nil:
		f = fail("put the file back as it was; if its content is lost, write the time at which the former host was stopped "+
			`for good, as {"since":"2026-01-02T15:04:05Z"}`, "%v", err)
	case pause == nil:
		return nil
	default:
		f = warn(fmt.Sprintf("let the node run; if the chain stands without this validator, read docs/OPERATING.md, Keys, "+
			"before you stop the node, remove %s and start it", file), "the validator's last signature was lost at %s: it "+
			"signs nothing until the chain has decided %d blocks without it", pause.Since.Format(time.RFC3339), home.PauseBlocks)
	}
	return &f
}

// signState compares the validator's state of a stopped node, which has its last signature, with the validator's last
// vote in the block store. An older state permits a second signature at a height.
func (h *Home) signState(p *app.Participant, key crypto.PubKey) Finding {
	file := h.Config.PrivValidatorStateFile()
	state, err := home.ReadValidatorState(file)
	_, none := os.Stat(h.Config.DBDir())
	switch {
	case errors.Is(err, os.ErrNotExist) && errors.Is(none, os.ErrNotExist):
		return warn("spdl start, and let the node run", "there is no %s, as after spdl restore: once started, the "+
			"validator signs nothing until the chain has decided %d blocks without it", h.Config.DBDir(), home.PauseBlocks)
	case errors.Is(err, os.ErrNotExist):
		return fail(home.LostStateRemedy, "%s is missing: the node does not start", file)
	case err != nil:
		return fail(home.LostStateRemedy, "%v", err)
	}
	voted, err := home.LastVote(h.Config, key.Address())
	switch {
	case home.IsDamaged(err):
		return fail("spdl reset-state --yes, and start the node", "%v", err)
	case err != nil:
		return skip("the validator's last vote cannot be read: %v", err)
	case voted > state.Height:
		return warn(home.LostStateRemedy, "%s ends at height %d, and the validator's vote at height %d is in the block "+
			"store: it is an old copy, and the validator may sign a second vote at a height, which costs participant %d the "+
			"whole reputation", file, state.Height, voted, p.Index)
	}
	return ok("%s, of participant %d; the node is stopped", key.Address(), p.Index)
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
