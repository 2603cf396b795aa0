package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/cmd/spdl/internal/explorer"
)

// startCommand runs the node of a home until a signal ends it.
func startCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Run the node of a home, with its worker",
		RunE:  func(cmd *cobra.Command, _ []string) error { return runNode(cmd.Context(), node.Hooks{}) },
	}
	cmd.Flags().String("log-level", "", "overrides log_level of config.toml, as \"info\" or \"app:info,*:error\"")
	return cmd
}

// runNode runs the node of --home until ctx ends, or the node does.
func runNode(ctx context.Context, h node.Hooks) error {
	level := viper.GetString("log-level")
	if level != "" { // before the home is read: what is wrong on the command line is said first
		if _, err := logAt(level, "error"); err != nil {
			return usageError{err}
		}
	}
	c, a, err := loadHome()
	if err != nil {
		return err
	}
	if level == "" {
		level = c.LogLevel
	}
	logger, err := logAt(level, "error")
	if err != nil {
		return fmt.Errorf("config.toml: %w", err)
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

// logAt is a logger to standard error: at a level, as "info", or at one for each
// module, as "app:info,*:error"; otherwise is the level of modules not named.
func logAt(level, otherwise string) (log.Logger, error) {
	logger, err := cmtflags.ParseLogLevel(level, log.NewTMLogger(log.NewSyncWriter(os.Stderr)), otherwise)
	if err != nil {
		return nil, fmt.Errorf("log level %q: %w", level, err)
	}
	return logger, nil
}
