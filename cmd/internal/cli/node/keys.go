package node

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cometbft/cometbft/config"
	cmted25519 "github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Keys returns the group of commands.
func Keys() *cobra.Command {
	return command.Group("keys", "Show, make and encrypt a home's keys", keysShow(), keysNew(), keysEncrypt(),
		keysDecrypt(), keysPasswd())
}

// publicKeys holds the public keys and ids of a home.
type publicKeys struct {
	File        string     `json:"file"`
	Participant string     `json:"participant_id"` // unless Registered, of a participant whose signing key never rotated
	Registered  bool       `json:"registered"`     // the home's node has an active participant with the signing key
	Signing     publicKey  `json:"signing_key"`
	VRF         publicKey  `json:"vrf_key"`
	Consensus   *publicKey `json:"consensus_key,omitempty"`
	Validator   string     `json:"validator_address,omitempty"` // of the consensus key, as in blocks and logs
	NodeID      string     `json:"node_id,omitempty"`
}

// publicKey is a key in the two encodings of files and answers.
type publicKey struct {
	Hex    string `json:"hex"`
	Base64 string `json:"base64"`
}

func public(key ed25519.PublicKey) publicKey {
	return publicKey{hex.EncodeToString(key), base64.StdEncoding.EncodeToString(key)}
}

func publicOf(file string, keys worker.PublicKeys) publicKeys {
	id := app.ParticipantID(keys.Signing)
	return publicKeys{File: file, Participant: hex.EncodeToString(id[:]), Signing: public(keys.Signing),
		VRF: public(keys.VRF)}
}

// shown returns the public keys of --key, of the home, or of its signer, and where the keys are.
func shown(r *command.Run, key string, c *config.Config, a home.AppConfig) (file string, _ worker.PublicKeys, _ error) {
	if key != "" || a.Worker.Signer == "" {
		file = File(key, c, a)
		keys, err := r.Keystore().LoadKeys(file)
		if err != nil {
			return file, worker.PublicKeys{}, err
		}
		return file, home.ParticipantWith(keys).PublicKeys, nil
	}
	p, err := home.OpenParticipant(r.Context, c, a, r.Keystore())
	if err == nil {
		err = p.CheckKnown()
	}
	return a.Worker.Signer, p.PublicKeys, err
}

// ask takes the participant's id from the home's node, if that answers: a rotated key has the id of the first.
func (k *publicKeys) ask(r *command.Run, signing ed25519.PublicKey) {
	c, err := r.Client("")
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context, command.QueryTimeout)
	defer cancel()
	all, _ := c.Participants(ctx)
	if p, err := Holder(all, k.File, signing); err == nil {
		k.Participant, k.Registered = hex.EncodeToString(p.Id), true
	}
}

func (k publicKeys) text(w io.Writer) {
	unless := map[bool]string{false: ", unless the signing key was rotated: no node of the home says"}[k.Registered]
	fmt.Fprintf(w, "file            %s\nparticipant id  %s%s\n", k.File, k.Participant, unless)
	line := func(name string, key publicKey) { fmt.Fprintf(w, "%-16s%s  %s\n", name, key.Hex, key.Base64) }
	line("signing key", k.Signing)
	line("vrf key", k.VRF)
	if k.Consensus != nil {
		line("consensus key", *k.Consensus)
		fmt.Fprintf(w, "validator       %s, the consensus key's address\n", k.Validator)
	}
	if k.NodeID != "" {
		fmt.Fprintf(w, "node id         %s\n", k.NodeID)
	}
}

func keysShow() *cobra.Command {
	var key string
	cmd := command.New(&cobra.Command{
		Use:   "show",
		Short: "Print the home's public keys: of the participant, its validator and its node",
		Long: "Print the home's public keys: of the participant, its validator and its node. No private part is printed.\n" +
			"The participant id is that of the home's node, if it answers, else that of the signing key: if a key is rotated\n" +
			"the chain keeps the first one's.",
		Example: "  spdl keys show --home ./node",
	}, command.AtHome(func(r *command.Run, c *config.Config, a home.AppConfig, _ []string) error {
		store := r.Keystore()
		file, keys, err := shown(r, key, c, a)
		if err != nil {
			return err
		}
		k := publicOf(file, keys)
		k.ask(r, keys.Signing)
		switch consensus, err := store.LoadValidatorKey(c.PrivValidatorKeyFile()); {
		case err == nil:
			p := public(consensus.Public().(ed25519.PublicKey))
			k.Consensus, k.Validator = &p, cmted25519.PubKey(consensus.Public().(ed25519.PublicKey)).Address().String()
		case !errors.Is(err, os.ErrNotExist): // a worker needs none
			return err
		}
		switch key, err := store.LoadNodeKey(c.NodeKeyFile()); {
		case err == nil:
			k.NodeID = string(key.ID())
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
		return r.Show(k, k.text)
	}))
	Flag(cmd, &key)
	return cmd
}

func keysNew() *cobra.Command {
	return command.New(&cobra.Command{
		Use:     "new FILE",
		Short:   "Make a participant's keys in a new file and print the public side",
		Example: "  spdl keys new ./participant_key.json",
		Args:    cobra.ExactArgs(1),
	}, func(r *command.Run, args []string) error {
		keys, err := new(home.Keystore).NewKeys(args[0])
		if err != nil {
			return err
		}
		k := publicOf(args[0], home.ParticipantWith(keys).PublicKeys)
		return r.Show(k, k.text)
	})
}
