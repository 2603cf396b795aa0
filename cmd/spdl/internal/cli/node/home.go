package node

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/privval"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/node"
)

func ShowNodeID() *cobra.Command {
	return &cobra.Command{Use: "show-node-id", Short: "Print the node's p2p id", RunE: func(cmd *cobra.Command, _ []string) error {
		c, _, err := command.LoadHome()
		if err != nil {
			return err
		}
		key, err := node.LoadNodeKey(c.NodeKeyFile())
		if err != nil {
			return err
		}
		return command.Show(cmd.OutOrStdout(), map[string]string{"node_id": string(key.ID())}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, key.ID())
			return err
		})
	}}
}

func ShowValidator() *cobra.Command {
	return &cobra.Command{Use: "show-validator", Short: "Print the validator's public key", RunE: func(cmd *cobra.Command, _ []string) error {
		c, _, err := command.LoadHome()
		if err != nil {
			return err
		}
		if err := node.CheckValidatorKey(c.PrivValidatorKeyFile()); err != nil {
			return err
		}
		pub, err := privval.LoadFilePVEmptyState(c.PrivValidatorKeyFile(), "").GetPubKey()
		if err != nil {
			return err
		}
		data, err := cmtjson.Marshal(pub)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(data))
		return err
	}}
}

func Version() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the versions of spdl, its state machine and CometBFT", RunE: func(cmd *cobra.Command, _ []string) error {
		v := struct {
			Version  string `json:"version"`
			App      int    `json:"app_version"`
			CometBFT string `json:"cometbft"`
		}{abci.Version, abci.AppVersion, cometVersion()}
		return command.Show(cmd.OutOrStdout(), v, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "spdl %s, state machine %d, CometBFT %s\n", v.Version, v.App, v.CometBFT)
			return err
		})
	}}
}

// cometVersion is the CometBFT that was linked. Its own constant says 0.39.0 in
// v0.40.0.
func cometVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/cometbft/cometbft" {
				return strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return "unknown"
}

// Reset has CometBFT's name for it.
func Reset() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unsafe-reset-all",
		Short: "Remove all blocks, the state and the worker's journal; keys and configuration stay",
		Long: "Remove all blocks, the state and the worker's journal; keys and configuration stay.\n" +
			"Unsafe: on a chain that goes on, the validator may sign twice and the worker may send a second gradient for a round.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, a, err := command.LoadHome()
			if err != nil {
				return err
			}
			if !viper.GetBool("yes") {
				return command.Usage(fmt.Errorf("this removes %s; say --yes", c.DBDir()))
			}
			return node.Reset(c, a)
		},
	}
	cmd.Flags().Bool("yes", false, "really remove it")
	return cmd
}
