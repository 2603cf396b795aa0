package genesis

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/keys"
	"github.com/spdl/spdl/cmd/internal/cli/shape"
	"github.com/spdl/spdl/internal/strictjson"
)

// entry is a participant's published part of a shared genesis. Nothing in it is secret.
type entry struct {
	ChainID      string       `json:"chain_id"`
	Seed         app.HexBytes `json:"seed"`
	Moniker      string       `json:"moniker"`
	Address      string       `json:"address,omitempty"`
	PubKey       []byte       `json:"pub_key"`
	VrfKey       []byte       `json:"vrf_key"`
	VrfProof     []byte       `json:"vrf_proof"` // over chain id and seed, for the first election
	ConsensusKey []byte       `json:"consensus_key,omitempty"`
	NodeIDs      []string     `json:"node_ids,omitempty"`
}

func genesisEntry() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "entry",
		Short: "Print this home's entry for a genesis that a consortium makes together",
		Long: "Print this home's entry for a genesis that a consortium makes together, as JSON: public keys, and the VRF " +
			"proof for the\n" +
			"first election. First agree on the chain's id and on a seed that no one member chose: a member that knows the " +
			"seed before its\n" +
			"keys are fixed can try keys until it leads the first round.",
	}, func(r *command.Run, o *entryOptions, _ []string) error {
		chainID := o.ChainID
		seed, err := o.seed()
		if err != nil {
			return err
		}
		if chainID == "" || seed == nil {
			return command.Usage(errors.New("--chain-id and --seed are needed: the entry's proof is for them"))
		}
		if err := command.CheckChainID(chainID); err != nil {
			return err
		}
		who, keys, err := o.Identity(r, o.Options)
		if err != nil {
			return err
		}
		return r.Show(entry{
			ChainID: chainID, Seed: seed, Moniker: who.Moniker, Address: who.Address, PubKey: who.PubKey, VrfKey: who.VrfKey,
			VrfProof: app.ProveGenesis(chainID, seed, keys.VRF), ConsensusKey: who.ConsensusKey,
			NodeIDs: who.NodeIDs,
		}, nil)
	})
	keys.Flag(cmd)
	keys.IdentityFlags(cmd)
	seedFlags(cmd)
	return cmd
}

func genesisNew() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "new ENTRY.json...",
		Short: "Make a genesis of the entries of its participants, in the order given",
		Long: "Make a genesis of the entries of its participants, in the order given: the first has index 0. It is " +
			"checked whole and\n" +
			"printed, or written to --out. Copy the one file to every home's config/genesis.json; genesis validate " +
			"checks it there.",
		Args: cobra.MinimumNArgs(1),
	}, runGenesisNew)
	seedFlags(cmd)
	shape.Flags(cmd, "the preset "+preset.Names()[0])
	cmd.Flags().String("out", "", "file to write (default: standard output)")
	return cmd
}

// seedFlags adds the flags of seedOptions.
func seedFlags(cmd *cobra.Command) {
	cmd.Flags().String("chain-id", "", "id of the chain")
	cmd.Flags().String("seed", "", "genesis seed, 64 hex digits")
}

// seedOptions identify the chain of a genesis.
type seedOptions struct {
	ChainID string `mapstructure:"chain-id"`
	Seed    string `mapstructure:"seed"`
}

type entryOptions struct {
	keys.Options         `mapstructure:",squash"`
	keys.IdentityOptions `mapstructure:",squash"`
	seedOptions          `mapstructure:",squash"`
}

type newOptions struct {
	seedOptions   `mapstructure:",squash"`
	shape.Options `mapstructure:",squash"`
	Out           string `mapstructure:"out"`
}

// seed returns --seed, nil if it is not given.
func (o seedOptions) seed() (app.HexBytes, error) {
	text := o.Seed
	if text == "" {
		return nil, nil
	}
	seed, err := hex.DecodeString(text)
	if err != nil || len(seed) != 32 {
		return nil, command.Usage(fmt.Errorf("--seed %q, want 64 hex digits", text))
	}
	return seed, nil
}

func runGenesisNew(r *command.Run, o *newOptions, args []string) error {
	chainID, out := o.ChainID, o.Out
	seed, err := o.seed()
	if err != nil {
		return err
	}
	if chainID == "" {
		return command.Usage(errors.New("--chain-id is needed"))
	}
	if err := command.CheckChainID(chainID); err != nil {
		return err
	}
	entries := make([]entry, len(args))
	for i, file := range args {
		if entries[i], err = readEntry(file, chainID, &seed); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	// the warnings below include these
	p, err := o.Shape(len(entries), func() (params.Params, error) { return preset.New(preset.Names()[0], len(entries)) },
		func(string) {})
	if err != nil {
		return err
	}
	data, warnings, err := assembleGenesis(chainID, seed, p, entries)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		r.Warn(w)
	}
	if out == "" {
		_, err := fmt.Fprintln(r.Out, string(data))
		return err
	}
	if err := writeNew(out, data); err != nil {
		return err
	}
	made := struct {
		File         string `json:"file"`
		SHA256       string `json:"sha256"` // for all to compare
		Participants int    `json:"participants"`
		Peers        string `json:"persistent_peers"` // the default of every node whose config.toml has none
	}{out, fmt.Sprintf("%x", sha256.Sum256(data)), len(entries), peersOf(r, entries)}
	return r.Show(made, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "file          %s\nsha256        %s\nparticipants  %d\npeers         %s\n", made.File,
			made.SHA256, made.Participants, made.Peers)
		return err
	})
}

// peersOf returns the entries' addresses, separated by commas, and warns of validators without one.
func peersOf(r *command.Run, entries []entry) string {
	var peers []string
	for _, e := range entries {
		switch {
		case e.Address != "":
			peers = append(peers, e.Address)
		case len(e.ConsensusKey) > 0:
			r.Warn(fmt.Sprintf("the entry of %s has no address: the others need it in p2p.persistent_peers of their "+
				"config.toml (spdl genesis entry --address)", e.Moniker))
		}
	}
	return strings.Join(peers, ",")
}

// readEntry reads an entry, which must be for the chain and the seed. A nil seed is set to the
// entry's.
func readEntry(file, chainID string, seed *app.HexBytes) (e entry, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return e, err
	}
	if err := strictjson.Decode(data, &e); err != nil {
		return e, fmt.Errorf("not an entry, as spdl genesis entry prints it: %w", err)
	}
	if *seed == nil {
		*seed = e.Seed
	}
	switch {
	case e.ChainID != chainID:
		return e, fmt.Errorf("entry is for chain %q, want %q", e.ChainID, chainID)
	case !bytes.Equal(e.Seed, *seed):
		return e, fmt.Errorf("entry is for seed %x, want %x", []byte(e.Seed), []byte(*seed))
	}
	return e, nil
}

// assembleGenesis returns the genesis document, fully checked, and the warnings about it.
func assembleGenesis(chainID string, seed []byte, p params.Params, entries []entry) (data []byte, warnings []string,
	err error) {
	g := app.Genesis{Params: p, Seed: seed}
	validators := 0
	for i, e := range entries {
		p := app.NewParticipant(uint32(i), app.Identity{
			PubKey: e.PubKey, VrfKey: e.VrfKey, ConsensusKey: e.ConsensusKey, Moniker: e.Moniker, Address: e.Address,
			NodeIDs: e.NodeIDs,
		}, p.Reputation)
		p.VrfProof = e.VrfProof
		if len(p.ConsensusKey) > 0 {
			validators++
		}
		g.Participants = append(g.Participants, p)
	}
	if _, err := g.Validate(); err != nil { // before CometBFT looks at a key of the wrong size
		return nil, nil, err
	}
	if validators == 0 {
		return nil, nil, errors.New("all participants are workers alone, and a chain needs a validator")
	}
	doc, err := home.NewGenesis(chainID, time.Now(), g)
	if err != nil {
		return nil, nil, err
	}
	if _, warnings, err = home.CheckGenesis(doc); err != nil {
		return nil, nil, err
	}
	data, err = cmtjson.MarshalIndent(doc, "", "  ")
	return data, warnings, err
}

// writeNew writes a file that must not exist.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
