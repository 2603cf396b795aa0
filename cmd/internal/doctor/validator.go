package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
)

// validator compares the validator key of the home's node with the validator key that the chain has
// for the home's participant, and looks for recent votes.
func validator(ctx context.Context, h *Home) Finding {
	switch {
	case h.isSigner():
		return h.signerState()
	case h.Twin != "":
		return skip("the check keys is about another node with these keys")
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
	switch gone, hidden := h.gone(ctx), h.encrypted(); {
	case gone != "":
		return skip("%s: the chain has no validator of this home", gone)
	case p == nil && hidden != "":
		return skip("%s", hidden)
	case p == nil || len(p.ConsensusKey) != ed25519.PubKeySize:
		return skip("no validator of the chain is this home's")
	}
	chain := ed25519.PubKey(p.ConsensusKey)
	key, err := h.validatorKey()
	if err == nil && !bytes.Equal(key.Bytes(), chain) {
		if h.runs() && h.Node.SyncInfo.CatchingUp { // the chain that it knows may be from before a rotation
			return skip("the node fetches blocks, and in these participant %d has another key", p.Index)
		}
		return fail("stop the node, put the priv_validator_key.json of the chain's key in place, start it; if that key is "+
			"lost, spdl tx rotate --consensus gives the validator a new one", "the chain's validator of participant %d is %s, "+
			"and the key here is of %s: this node signs no block", p.Index, chain.Address(), key.Address())
	}
	if pause := h.signPause(); pause.Level != "" {
		return pause
	}
	switch {
	case err != nil:
		return skip("the validator's key cannot be read: %v: start the node, and doctor asks it", err)
	case !h.runs():
		return h.signState(p, key)
	case h.Node.SyncInfo.CatchingUp:
		return skip("the node fetches blocks, up to height %d: it votes when it has them", h.Node.SyncInfo.LatestBlockHeight)
	}
	return h.votes(ctx, p)
}

// signPause warns while the validator signs nothing because its last signature is lost. Otherwise the finding has no
// level.
func (h *Home) signPause() Finding {
	pause, err := home.ReadSignPause(h.Config)
	switch {
	case err != nil:
		return fail("put the file back as it was; if its content is lost, write the time at which the former host was "+
			`stopped for good, as {"since":"2026-01-02T15:04:05Z"}`, "%v", err)
	case pause == nil:
		return Finding{}
	}
	return warn("let the node run; if the chain stands without this validator, read docs/KEYS.md before you "+
		"stop the node, remove "+home.SignPauseFile(h.Config)+" and start it", "the validator's last signature was lost at "+
		"%s: it signs nothing until the chain has decided %d blocks without it", pause.Since.Format(time.RFC3339),
		home.PauseBlocks)
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
	address := ed25519.PubKey(p.ConsensusKey).Address()
	s, err := h.Client.Status(ctx)
	switch {
	case err != nil:
		return skip("the node does not say whether it votes: %v", err)
	case s.Height == 0:
		return skip("%v, of participant %d: the chain has no block yet", address, p.Index)
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

// validatorSigner checks whether the signer of the validator's key is connected to the running node.
func validatorSigner(ctx context.Context, h *Home) Finding {
	at := h.Config.PrivValidatorListenAddr
	switch {
	case at == "":
		return skip("the validator's key is in this home")
	case !h.runs():
		return skip("the node is stopped: it listens for the signer at priv_validator_laddr, %s, while it runs", at)
	}
	s, err := h.Client.Status(ctx)
	switch {
	case err != nil:
		return skip("the node does not say: %v", err)
	case s.Home == nil || s.Home.ValidatorSigner == "":
		return warn("restart the node", "priv_validator_laddr is %s, and the node has started without it", at)
	case s.Home.ValidatorSigner != home.SignerAnswers:
		return fail("start it (spdl signer); see that it reaches this address, and that its --node-id is this node's "+
			"(spdl show-node-id)", "no signer is connected to priv_validator_laddr, %s: the validator signs nothing", at)
	}
	return ok("a signer is connected to %s", at)
}

// participantSigner checks whether the signer of the participant's keys answers.
func participantSigner(ctx context.Context, h *Home) Finding {
	w := h.App.Worker
	if w.Signer == "" {
		return skip("the participant's keys are in this home")
	}
	p, err := home.OpenParticipant(ctx, h.Config, h.App, home.NewKeystore(h.Config.RootDir, nil))
	if err != nil {
		return fail("spdl signer init makes the home and the certificates of a signer", "%v", err)
	}
	if away := p.Signer.Away(); away != "" {
		return fail("start it (spdl signer); see that this host reaches its address, and that each side has the other's "+
			"certificate", "away: %s: the participant is absent until it answers", away)
	}
	if h.NoGenesis != nil {
		return ok("answers: %s, with the public key %X", w.Signer, []byte(p.Signing))
	}
	all, err := h.participants(ctx)
	if err != nil {
		return skip("answers: %s; the chain's participants cannot be read: %v", w.Signer, err)
	}
	for _, who := range all {
		if string(who.PubKey) != string(p.Signing) {
			continue
		}
		if _, err := p.Signer.Open(ctx, h.Genesis.ChainID, who.Id); errors.Is(err, worker.ErrForeign) {
			return fail("put the genesis of this chain into the signer's home", "%v", err)
		} else if err != nil {
			return fail("look at the signer's log", "%v", err)
		}
		return ok("answers: %s, with the keys of participant %d", w.Signer, who.Index)
	}
	return fail("it has the keys of another participant, or the participant has not joined", "%s answers, with the "+
		"public key %X, whom the chain does not have", w.Signer, []byte(p.Signing))
}
