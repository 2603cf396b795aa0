package query

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"
	"github.com/spdl/spdl/cmd/spdl/internal/verify"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"
)

// Path is the query path that arguments ask for.
type Path func(context.Context, *client.Client, []string) (string, error)

// Prove asks with proof, and computes the application hash that the answer leads
// to.
func Prove(ctx context.Context, c *client.Client, path Path, args []string) (asked string, p client.Proven, root [32]byte, err error) {
	if asked, err = path(ctx, c, args); err != nil {
		return asked, p, root, err
	}
	if p, err = c.Prove(ctx, asked); err != nil {
		return asked, p, root, err
	}
	root, err = verify.Root(p)
	return asked, p, root, err
}

// withProofs adds --prove to the queries whose answers the application hash
// covers.
func withProofs(query *cobra.Command) *cobra.Command {
	round := func(name string) func(context.Context, *client.Client, []string) (string, error) {
		return func(ctx context.Context, c *client.Client, args []string) (string, error) {
			if name == "model" && len(args) == 0 {
				return name, nil
			}
			epoch, t, err := RoundArgument(ctx, c, args)
			return fmt.Sprintf("%s/%d/%d", name, epoch, t), err
		}
	}
	fixed := func(path string) func(context.Context, *client.Client, []string) (string, error) {
		return func(context.Context, *client.Client, []string) (string, error) { return path, nil }
	}
	paths := map[string]func(context.Context, *client.Client, []string) (string, error){
		"params": fixed("params"), "participants": fixed("participants"), "evidence": fixed("offences"), "epochs": fixed("epochs"),
		"membership": fixed("proposals"), "status": fixed("progress"), "round": round("round"), "model": round("model"),
	}
	for _, cmd := range query.Commands() {
		path, ok := paths[cmd.Name()]
		if !ok {
			continue
		}
		without := cmd.RunE
		cmd.Flags().Bool("prove", false, "print what the state holds, in protobuf, with its Merkle proof; spdl verify checks such")
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if !viper.GetBool("prove") {
				return without(cmd, args)
			}
			c, err := client.New(viper.GetString("node"))
			if err != nil {
				return command.Usage(err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), command.QueryTimeout)
			defer cancel()
			_, p, root, err := Prove(ctx, c, path, args)
			if err != nil {
				return err
			}
			return command.Show(cmd.OutOrStdout(), struct {
				client.Proven
				AppHash string `json:"app_hash"` // that it leads to
			}{p, hex.EncodeToString(root[:])}, nil)
		}
	}
	return query
}
