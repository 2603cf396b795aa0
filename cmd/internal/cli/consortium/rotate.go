package consortium

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	cmted25519 "github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/node"
)

func txRotate() *cobra.Command {
	o := &rotateOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "rotate",
		Short: "Replace keys or node ids of the participant (default: the signing and the VRF key)",
		Long: `Replace keys or node ids of the participant at the next round boundary (default: the signing and the VRF key).
The new keys lie in <key file>.next until the chain knows them; then they become the key file, and the keys
before are kept as <key file>.<their public key>.old. A rotation that was cut off goes on when it is asked for
again. A running worker takes the new keys by itself, a round later at most. A new consensus key is made
elsewhere: run the node with its priv_validator_key.json once the rotation is in force, two heights later, and
never two nodes with one key.`,
		Example: "  spdl tx rotate --home ./node\n" +
			"  spdl tx rotate --home ./node --consensus --consensus-key-file ./new/priv_validator_key.json",
	}, o.run)
	o.declare(cmd)
	command.Flag(cmd, &o.signing, "signing", false, "replace the signing key")
	command.Flag(cmd, &o.vrf, "vrf", false, "replace the VRF key")
	command.Flag(cmd, &o.consensus, "consensus", false, "replace the validator's key by that of --consensus-key-file")
	command.Flag(cmd, &o.nodes, "nodes", "", "replace the ids of the participant's nodes by these, separated by commas")
	command.Flag(cmd, &o.consensusKeyFile, "consensus-key-file", "", "priv_validator_key.json with the new consensus "+
		"key, which signs that you have it")
	return cmd
}

type rotateOptions struct {
	signOptions
	signing, vrf, consensus bool
	nodes, consensusKeyFile string
}

// rotation holds the keys that a participant changes.
type rotation struct {
	*sender
	signing, vrf bool
	consensus    ed25519.PublicKey  // the new key, nil if it stays
	validator    ed25519.PrivateKey // the private key of consensus
	nodes        []string           // the new ids, nil if they stay
	made         bool               // the next keys exist already
	next         home.Participant
}

// newRotation reads the options, and the next keys of an interrupted rotation. It generates no
// keys, because the home may not belong to a participant.
func newRotation(s *sender, o *rotateOptions) (*rotation, error) {
	r := &rotation{sender: s, signing: o.signing, vrf: o.vrf, next: s.own}
	file, asked := o.consensusKeyFile, o.consensus
	if asked != (file != "") {
		return nil, command.Usage(errors.New("--consensus and --consensus-key-file: both or none"))
	}
	var err error
	if asked {
		if r.validator, err = s.run.Keystore().LoadValidatorKey(file); err != nil {
			return nil, err
		}
		r.consensus = r.validator.Public().(ed25519.PublicKey)
	}
	if o.nodes != "" {
		r.nodes = node.NodeIDs(o.nodes)
	}
	if !r.signing && !r.vrf && !asked && r.nodes == nil {
		r.signing, r.vrf = true, true
	}
	if !r.signing && !r.vrf {
		return r, nil
	}
	path := home.NextKeyFile(s.keyFile)
	switch next, err := s.run.Keystore().LoadKeys(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case next.Signing.Equal(s.own.Keys.Signing) == r.signing || next.VRF.Equal(s.own.Keys.VRF) == r.vrf:
		return nil, fmt.Errorf("%s is of a rotation that changes signing %t, vrf %t: ask for that one to end it", path,
			!next.Signing.Equal(s.own.Keys.Signing), !next.VRF.Equal(s.own.Keys.VRF))
	default:
		r.next, r.made = home.ParticipantWith(next), true
	}
	return r, nil
}

// make generates the next keys and writes their file, unless they exist.
func (r *rotation) make() error {
	if r.made || !r.signing && !r.vrf {
		return nil
	}
	next, fresh := r.own.Keys, home.GenerateKeys()
	if r.signing {
		next.Signing = fresh.Signing
	}
	if r.vrf {
		next.VRF = fresh.VRF
	}
	r.next = home.ParticipantWith(next)
	return r.run.Keystore().WriteKeys(home.NextKeyFile(r.keyFile), next)
}

// done reports whether a participant has the new keys.
func (r *rotation) done(p app.Participant) bool {
	return bytes.Equal(p.PubKey, r.next.Signing) && bytes.Equal(p.VrfKey, r.next.VRF) &&
		(r.consensus == nil || bytes.Equal(p.ConsensusKey, r.consensus)) &&
		(r.nodes == nil || slices.Equal(p.NodeIds, r.nodes))
}

// holder returns the participant that rotates its keys. If the rotation was interrupted after it
// came into force, the chain already knows the participant by the next key.
func (r *rotation) holder(ctx context.Context) (app.Participant, error) {
	all, err := r.Participants(ctx)
	if err != nil {
		return app.Participant{}, err
	}
	if p, err := node.Holder(all, home.NextKeyFile(r.keyFile), r.next.Signing); err == nil {
		return p, nil
	}
	return node.Holder(all, r.keyFile, r.own.Signing)
}

// body returns the transaction's body, with the proofs that the sender holds the new keys.
func (r *rotation) body(ctx context.Context, p app.Participant) (tx.Body, error) {
	chainID, err := r.chain(ctx)
	if err != nil {
		return nil, err
	}
	b := &tx.Rotate{Participant: p.Index, Nonce: p.Nonce + 1, ConsensusKey: r.consensus, NodeIds: r.nodes}
	if r.signing {
		b.PubKey, b.PubKeyProof = r.next.Signing, app.ProveRotation(chainID, p.Index, r.next.Keys.Signing)
	}
	if r.consensus != nil {
		b.ConsensusProof = app.ProveConsensusKey(chainID, r.next.Signing, r.validator)
	}
	if r.vrf {
		b.VrfKey, b.VrfProof = r.next.VRF, app.ProveVRFKey(chainID, r.next.Signing, r.next.Keys.VRF)
	}
	return b, nil
}

func (o *rotateOptions) run(run *command.Run, _ []string) error {
	s, err := newSender(run, &o.signOptions)
	if err != nil {
		return err
	}
	if s.own.Signer != nil {
		return fmt.Errorf("the keys are at the signer, %s: rotate them there, with its home: spdl tx rotate --home SIGNER "+
			"--node RPC", s.keyFile)
	}
	r, err := newRotation(s, o)
	if err != nil {
		return err
	}
	var p app.Participant
	t, err := s.sign(run.Context, func(ctx context.Context) (tx.Body, error) {
		if p, err = r.holder(ctx); err != nil {
			return nil, err
		}
		if err := r.make(); err != nil {
			return nil, err
		}
		return r.body(ctx, p)
	})
	if err != nil {
		return err
	}
	if o.dryRun {
		return s.dryRun(t)
	}
	out := newReport(t, fmt.Sprintf("new keys of participant %d", p.Index))
	spoken, err := r.carryOut(run.Context, t, p, &out)
	if !spoken {
		return err
	}
	return errors.Join(run.Show(out, out.text), err)
}

// carryOut sends the rotation, unless the chain has it already, waits until it is in force, and
// replaces the keys by the next keys.
func (r *rotation) carryOut(ctx context.Context, t *tx.Tx, p app.Participant, out *Report) (spoken bool, err error) {
	if !r.done(p) {
		waits, err := r.waits(ctx, out.Proposal)
		if err != nil {
			return false, err
		}
		if !waits {
			spoken, err := r.send(ctx, t, out)
			if p, unknown := r.holder(ctx); err != nil && unknown == nil && r.done(p) { // it came into force in between
				out.Code, out.Log = 0, ""
				return true, r.settle(out)
			}
			if err != nil {
				return spoken, err
			}
		}
		if !r.options.wait {
			out.Next = "ask for the same rotation again to put the new keys in place once they are in force"
			return true, nil
		}
		if err := r.inForce(ctx, p.Index, out.Proposal); err != nil {
			return true, err
		}
	}
	return true, r.settle(out)
}

// waits reports whether a proposal waits for the round boundary.
func (r *rotation) waits(ctx context.Context, proposal string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, command.QueryTimeout)
	defer cancel()
	m, err := r.Membership(ctx)
	return slices.ContainsFunc(m.Proposals, func(q query.Proposal) bool { return q.ID == proposal }), err
}

// inForce waits until the chain has the participant with its new keys.
func (r *rotation) inForce(ctx context.Context, index uint32, proposal string) error {
	wait, cancel := context.WithTimeout(ctx, r.options.timeout)
	defer cancel()
	gone := false
	for {
		all, err := r.Participants(wait)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && wait.Err() == nil:
			return err
		case err == nil && uint64(index) < uint64(len(all)) && r.done(all[index]):
			return nil
		case gone && err == nil:
			return fmt.Errorf("the rotation was dropped, and participant %d keeps its keys; the next keys are still in %s",
				index, home.NextKeyFile(r.keyFile))
		}
		waits, err := r.waits(wait, proposal)
		gone = err == nil && !waits // the participants are then read once more
		select {
		case <-wait.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("the rotation is not in force after %v; ask for the same rotation again to go on",
				r.options.timeout)
		case <-time.After(pollInterval):
		}
	}
}

// settle replaces the key file and adds the remaining steps to the report.
func (r *rotation) settle(out *Report) error {
	out.Next = "the rotation is in force"
	if r.signing || r.vrf {
		kept, err := r.run.Keystore().ReplaceKeys(r.keyFile)
		if err != nil {
			return fmt.Errorf("the rotation is in force, and its keys are in %s: %w", home.NextKeyFile(r.keyFile), err)
		}
		out.Next = fmt.Sprintf("the new keys are in %s, those before in %s; a running worker takes them by itself", r.keyFile,
			kept)
	}
	if r.consensus != nil {
		out.Next += fmt.Sprintf("; two heights after the rotation the validator is %s (public key %x): stop the node, "+
			"put the new priv_validator_key.json in place, start it", cmted25519.PubKey(r.consensus).Address(), r.consensus)
	}
	return nil
}
