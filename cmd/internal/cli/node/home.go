package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// ShowNodeID returns the command show-node-id, named as CometBFT's.
func ShowNodeID() *cobra.Command {
	return command.PassphraseFlag(command.New(&cobra.Command{Use: "show-node-id", Short: "Print the node's p2p id",
		Example: "  spdl show-node-id --home ./node"},
		command.AtHome(func(r *command.Run, c *config.Config, _ home.AppConfig, _ []string) error {
			key, err := r.Keystore().LoadNodeKey(c.NodeKeyFile())
			if err != nil {
				return err
			}
			return r.Show(map[string]string{"node_id": string(key.ID())}, command.Line(string(key.ID())))
		})))
}

// ShowValidator returns the command show-validator, named as CometBFT's.
func ShowValidator() *cobra.Command {
	return command.PassphraseFlag(command.New(&cobra.Command{Use: "show-validator",
		Short: "Print the validator's public key", Example: "  spdl show-validator --home ./node"},
		command.AtHome(func(r *command.Run, c *config.Config, _ home.AppConfig, _ []string) error {
			pub, err := validatorKey(r, c)
			if err != nil {
				return err
			}
			data, err := cmtjson.Marshal(pub)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(r.Out, string(data))
			return err
		})))
}

// validatorKey returns the public key of the home's validator: from its key file, or if a signer holds the key, from
// the node that the signer signs for.
func validatorKey(r *command.Run, c *config.Config) (crypto.PubKey, error) {
	key, err := r.Keystore().LoadValidatorKey(c.PrivValidatorKeyFile())
	if err == nil {
		return ed25519.PrivKey(key).PubKey(), nil
	}
	if !errors.Is(err, os.ErrNotExist) || c.PrivValidatorListenAddr == "" {
		return nil, err
	}
	own, err := r.Keystore().LoadNodeKey(c.NodeKeyFile())
	if err != nil {
		return nil, err
	}
	asked, err := r.Client("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context, command.QueryTimeout)
	defer cancel()
	status, err := asked.RPC().Status(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	} else if status.NodeInfo.ID() != own.ID() {
		err = fmt.Errorf("node %s answers, and this home's is %s", status.NodeInfo.ID(), own.ID())
	}
	if err != nil {
		return nil, fmt.Errorf("the validator's key is with a signer (priv_validator_laddr is %s), and the home's node does "+
			"not say it: start the node, or run show-validator with the signer's --home: %w", c.PrivValidatorListenAddr, err)
	}
	return status.ValidatorInfo.PubKey, nil
}

// Version returns the command that prints the versions of the program and its parts.
func Version() *cobra.Command {
	return command.New(&cobra.Command{Use: "version", Short: "Print the versions of spdl, its state machine and CometBFT",
		Example: "  spdl version -o json"},
		func(r *command.Run, _ []string) error {
			v := struct {
				Version  string `json:"version"`
				App      uint64 `json:"app_version"`
				CometBFT string `json:"cometbft"`
			}{version.Version, app.Version, version.CometBFT()}
			return r.Show(v, func(w io.Writer) {
				fmt.Fprintf(w, "spdl %s, state machine %d, CometBFT %s\n", v.Version, v.App, v.CometBFT)
			})
		})
}
