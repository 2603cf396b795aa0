// Package node has the commands of a node and its home: init, start, config, backup, restore, show-node-id,
// show-validator, version, reset-state and unsafe-reset-all. It also has worker, which runs workers without a node,
// signer, which keeps keys in a process of its own, and keys, with the identity of a home for other commands.
package node

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Init returns the command that makes a home with a genesis for only this node.
func Init() *cobra.Command {
	o := &initOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "init [MONIKER]",
		Short: "Make a home: keys, configuration, genesis of one node",
		Long: "Make a home: keys, configuration and a genesis with this node alone.\n" +
			"To join a consortium whose chain runs, replace config/genesis.json by theirs, start the node and ask with " +
			"`spdl tx join`;\n" +
			"to found one, use `spdl consortium` instead, which makes the home. The node hears its own machine alone unless " +
			"--p2p-laddr\n" +
			"names another address. With --dial-only it hears nobody, and dials relays (p2p.relays) and members. A relay's " +
			"home\n" +
			"(--relay) has no key but its node's, and waits for the genesis of its chain. Nothing that exists is overwritten.",
		Example: "  spdl init hospital-a --home ./node --p2p-laddr tcp://0.0.0.0:26656\n" +
			"  spdl init --home ./node --encrypt --preset mlp\n" +
			"  spdl init relay-1 --home ./relay --relay --external-address relay.example.org:26656",
		Args: cobra.MaximumNArgs(1),
	}, o.run)
	command.Flag(cmd, &o.chainID, "chain-id", "", "id of the chain (default: random)")
	command.Flag(cmd, &o.laddr, "p2p-laddr", "tcp://127.0.0.1:26656", "address at which the node hears other nodes: all "+
		"interfaces are tcp://0.0.0.0:26656 (of a relay: all, at the port of --external-address)")
	command.Flag(cmd, &o.address, "external-address", "", "host:port at which the others reach the node (default: that "+
		"of --p2p-laddr)")
	command.EncryptFlag(cmd, &o.encrypt)
	command.Flag(cmd, &o.dialOnly, "dial-only", false, "listen nowhere: the node dials, and accepts nobody")
	command.Flag(cmd, &o.relay, "relay", false, "make the home of a relay, which members reach at --external-address")
	command.Flag(cmd, &o.preset, "preset", preset.Names()[0], "parameters of the genesis: "+
		strings.Join(preset.Names(), ", ")).Values(preset.Names()...)
	return cmd
}

type initOptions struct {
	chainID, laddr, address, preset string
	encrypt, dialOnly, relay        bool
}

// config returns the configuration of the new home.
func (o *initOptions) config(r *command.Run, moniker string) (*config.Config, error) {
	listens := r.Given(&o.laddr)
	switch {
	case o.dialOnly && (o.relay || listens || o.address != ""):
		return nil, command.Usage(errors.New("--dial-only and --relay, --p2p-laddr or --external-address: a node that " +
			"dials alone has no address"))
	case o.relay && o.address == "":
		return nil, command.Usage(errors.New("--relay needs --external-address HOST:PORT, at which members reach it"))
	case o.dialOnly:
		o.laddr = ""
	case o.relay && !listens:
		o.laddr = home.ListenAt(o.address)
	}
	c, err := home.NewConfig(moniker, o.laddr, o.address)
	if err != nil {
		return nil, command.Usage(err)
	}
	c.P2P.AllowDuplicateIP = c.P2P.AllowDuplicateIP || o.relay // several members may be behind one address
	return c, nil
}

// initRelay makes the home of a relay.
func (o *initOptions) initRelay(r *command.Run, c *config.Config) error {
	a := home.DefaultAppConfig()
	a.Node.Role, a.Worker.Enabled = home.RoleRelay, false
	made, err := r.InitHome(c, a, o.encrypt)
	if err != nil {
		return err
	}
	out := struct {
		Home   string `json:"home"`
		NodeID string `json:"node_id"`
		Relay  string `json:"relay"`
	}{made.Dir, string(made.NodeID), fmt.Sprintf("%s@%s", made.NodeID, c.P2P.ExternalAddress)}
	return r.Show(out, func(w io.Writer) {
		fmt.Fprintf(w, "home      %s\nnode id   %s\nrelay     %s\nnext      members name it: spdl consortium join "+
			"--relays, or p2p.relays of app.toml; put the chain's genesis.json into config/, and the other relays into "+
			"p2p.relays here; then spdl start --home %s\n", out.Home, out.NodeID, out.Relay, out.Home)
	})
}

func (o *initOptions) run(r *command.Run, args []string) error {
	params, err := preset.New(o.preset, 1)
	if err != nil {
		return command.Usage(err)
	}
	moniker, err := os.Hostname()
	if err != nil {
		moniker = "node"
	}
	if len(args) > 0 {
		moniker = args[0]
	}
	c, err := o.config(r, moniker)
	if err != nil {
		return err
	}
	if o.relay {
		return o.initRelay(r, c)
	}
	seed := make([]byte, 32)
	rand.Read(seed) // never fails (crypto/rand)
	chainID := cmp.Or(o.chainID, fmt.Sprintf("spdl-%x", seed[:4]))
	if err := command.CheckChainID(chainID); err != nil {
		return err
	}
	made, err := r.InitHome(c, home.DefaultAppConfig(), o.encrypt)
	if err != nil {
		return err
	}
	g := app.Genesis{Params: params, Seed: seed, Participants: []app.Participant{made.Participant(0, chainID, seed,
		params.Reputation)}}
	doc, err := home.NewGenesis(chainID, time.Now(), g)
	if err != nil {
		return err
	}
	if err := doc.SaveAs(c.GenesisFile()); err != nil {
		return err
	}
	out := struct {
		Home           string `json:"home"`
		ChainID        string `json:"chain_id"`
		NodeID         string `json:"node_id"`
		ConsensusKey   []byte `json:"consensus_key"`
		ParticipantKey []byte `json:"participant_key"`
	}{made.Dir, chainID, string(made.NodeID), made.Public.ConsensusKey, made.Public.PubKey}
	return r.Show(out, func(w io.Writer) {
		fmt.Fprintf(w, "home      %s\nnode id   %s\nchain id  %s\nnext      spdl start begins the chain of this "+
			"node alone; to join another, put its genesis.json into config/, and the chain id above does not matter\n",
			out.Home, out.NodeID, out.ChainID)
	})
}
