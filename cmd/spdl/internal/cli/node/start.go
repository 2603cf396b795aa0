package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/cmd/spdl/internal/explorer"
)

// Start runs the node of a home until a signal ends it.
func Start() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Run the node of a home, with its worker",
		RunE:  func(cmd *cobra.Command, _ []string) error { return Run(cmd.Context(), node.Hooks{}) },
	}
	cmd.Flags().String("log-level", "", "overrides log_level of config.toml, as \"info\" or \"app:info,*:error\"")
	return cmd
}

// Run runs the node of --home until ctx ends, or the node does.
func Run(ctx context.Context, h node.Hooks) error {
	level := viper.GetString("log-level")
	if level != "" { // before the home is read: what is wrong on the command line is said first
		if _, err := command.LogAt(level, "error"); err != nil {
			return command.Usage(err)
		}
	}
	c, a, err := command.LoadHome()
	if err != nil {
		return err
	}
	if level == "" {
		level = c.LogLevel
	}
	logger, err := command.LogAt(level, "error")
	if err != nil {
		return fmt.Errorf("config.toml: %w", err)
	}
	if err := node.AwaitGenesis(ctx, c, logger); err != nil {
		if ctx.Err() != nil { // a signal, as at any other time
			return nil
		}
		return err
	}
	h.Beside = explorer.Beside
	r, err := node.Start(c, a, logger, h)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { r.Wait(); close(ended) }()
	select {
	case <-ctx.Done():
	case <-ended:
	case err = <-r.Failed():
	}
	return errors.Join(err, r.Stop())
}
