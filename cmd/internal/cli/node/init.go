// Package node has the commands of a node and its home: init, start, show-node-id, show-validator,
// version and unsafe-reset-all.
package node

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Init returns the command that makes a home, with a genesis of this node alone.
func Init() *cobra.Command {
	cmd := command.New(&cobra.Command{
		Use:   "init [moniker]",
		Short: "Make a home: keys, configuration and a genesis with this node alone",
		Long: "Make a home: keys, configuration and a genesis with this node alone.\n" +
			"To join a consortium, replace config/genesis.json by theirs, start the node and ask with `spdl tx join`; to " +
			"found one,\n" +
			"see `spdl genesis entry`. The node hears its own machine alone unless --p2p-laddr names another address. " +
			"Nothing that exists is overwritten.",
		Args: cobra.MaximumNArgs(1),
	}, runInit)
	cmd.Flags().String("chain-id", "", "id of the chain (default: random)")
	cmd.Flags().String("p2p-laddr", "tcp://127.0.0.1:26656", "address at which the node hears other nodes: all "+
		"interfaces are tcp://0.0.0.0:26656")
	cmd.Flags().String("external-address", "", "host:port at which the others reach the node (default: that of "+
		"--p2p-laddr)")
	cmd.Flags().String("preset", preset.Names()[0], "parameters of the genesis: "+strings.Join(preset.Names(), ", "))
	command.Values(cmd, "preset", preset.Names()...)
	return cmd
}

type initOptions struct {
	ChainID string `mapstructure:"chain-id"`
	Preset  string `mapstructure:"preset"`
	Laddr   string `mapstructure:"p2p-laddr"`
	At      string `mapstructure:"external-address"`
}

// listen sets the p2p addresses. A node that listens on the loopback alone gets the settings for a
// net on one machine.
func (o *initOptions) listen(c *config.Config) error {
	host, _, err := net.SplitHostPort(strings.TrimPrefix(o.Laddr, "tcp://"))
	if err != nil {
		return command.Usage(fmt.Errorf("--p2p-laddr %q, want an address as tcp://0.0.0.0:26656", o.Laddr))
	}
	if _, _, err := net.SplitHostPort(o.At); err != nil && o.At != "" {
		return command.Usage(fmt.Errorf("--external-address %q, want host:port", o.At))
	}
	c.P2P.ListenAddress, c.P2P.ExternalAddress = o.Laddr, o.At
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		home.Loopback(c)
	}
	return nil
}

func runInit(r *command.Run, o *initOptions, args []string) error {
	params, err := preset.New(o.Preset, 1)
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
	if len(moniker) > app.MaxMoniker {
		return command.Usage(fmt.Errorf("moniker %q has %d bytes, at most %d", moniker, len(moniker), app.MaxMoniker))
	}
	if strconv.Quote(moniker) != `"`+moniker+`"` {
		return command.Usage(fmt.Errorf("moniker %q: CometBFT writes it into config.toml as it is, without quotes or what "+
			"does not print", moniker))
	}
	seed := make([]byte, 32)
	rand.Read(seed) // never fails (crypto/rand)
	chainID := o.ChainID
	if chainID == "" {
		chainID = fmt.Sprintf("spdl-%x", seed[:4])
	}
	if err := command.CheckChainID(chainID); err != nil {
		return err
	}
	c := home.DefaultConfig()
	c.Moniker = moniker
	if err := o.listen(c); err != nil {
		return err
	}
	made, err := home.Init(r.Home, c, home.DefaultAppConfig())
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
	return r.Show(out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "home      %s\nchain id  %s\nnode id   %s\n", out.Home, out.ChainID, out.NodeID)
		return err
	})
}
