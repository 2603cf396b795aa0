package node

import (
	"fmt"
	"io"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// ShowNodeID returns the command show-node-id, named as CometBFT's.
func ShowNodeID() *cobra.Command {
	cmd := command.New(&cobra.Command{Use: "show-node-id", Short: "Print the node's p2p id"},
		func(r *command.Run, _ []string) error {
			c, _, err := r.LoadHome()
			if err != nil {
				return err
			}
			key, err := r.Keystore().LoadNodeKey(c.NodeKeyFile())
			if err != nil {
				return err
			}
			return r.Show(map[string]string{"node_id": string(key.ID())}, command.Line(string(key.ID())))
		})
	command.PassphraseFlag(cmd)
	return cmd
}

// ShowValidator returns the command show-validator, named as CometBFT's.
func ShowValidator() *cobra.Command {
	cmd := command.New(&cobra.Command{Use: "show-validator", Short: "Print the validator's public key"},
		func(r *command.Run, _ []string) error {
			c, _, err := r.LoadHome()
			if err != nil {
				return err
			}
			key, err := r.Keystore().LoadValidatorKey(c.PrivValidatorKeyFile())
			if err != nil {
				return err
			}
			data, err := cmtjson.Marshal(ed25519.PrivKey(key).PubKey())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(r.Out, string(data))
			return err
		})
	command.PassphraseFlag(cmd)
	return cmd
}

// Version returns the command that prints the versions of the program and its parts.
func Version() *cobra.Command {
	return command.New(&cobra.Command{Use: "version", Short: "Print the versions of spdl, its state machine and CometBFT"},
		func(r *command.Run, _ []string) error {
			v := struct {
				Version  string `json:"version"`
				App      uint64 `json:"app_version"`
				CometBFT string `json:"cometbft"`
			}{version.Version, app.Version, version.CometBFT()}
			return r.Show(v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "spdl %s, state machine %d, CometBFT %s\n", v.Version, v.App, v.CometBFT)
				return err
			})
		})
}
