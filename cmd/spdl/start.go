package main

import (
	"context"
	"errors"
	"os"

	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/node"
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
	c, a, err := loadHome()
	if err != nil {
		return err
	}
	if l := viper.GetString("log-level"); l != "" {
		c.LogLevel = l
	}
	logger, err := cmtflags.ParseLogLevel(c.LogLevel, log.NewTMLogger(log.NewSyncWriter(os.Stderr)), "error")
	if err != nil {
		return err
	}
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
