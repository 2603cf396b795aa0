package tx

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

type upgradeOptions struct {
	signOptions `mapstructure:",squash"`
	Height      uint64 `mapstructure:"height"`
	Version     uint64 `mapstructure:"app-version"`
	Cancel      bool   `mapstructure:"cancel"`
}

func (o *upgradeOptions) sign() *signOptions { return &o.signOptions }

// Check requires either --height and --app-version or --cancel.
func (o *upgradeOptions) Check() error {
	planned := o.Height != 0 || o.Version != 0
	switch {
	case o.Cancel && planned:
		return command.Usage(errors.New("--cancel with --height or --app-version: one of them"))
	case !o.Cancel && (o.Height == 0 || o.Version == 0):
		return command.Usage(errors.New("--height and --app-version are needed, or --cancel"))
	}
	return nil
}

func txUpgrade() *cobra.Command {
	short := "Propose that another version of the state machine executes the chain from a height on"
	cmd := transact(&cobra.Command{
		Use: "upgrade NAME", Short: short, Args: cobra.ExactArgs(1),
		Long: short + ".\n" +
			"More than two thirds of the active participants must approve. Every node of the running version then stops " +
			"before that\n" +
			"height by itself, with exit code 4, and goes on once a release of the new version (spdl version prints it) " +
			"is started.\n" +
			"A later upgrade that is approved replaces the one that is planned; --cancel takes the planned one of " +
			"that name away.",
	}, (*upgradeOptions).sign, upgrade)
	cmd.Flags().Uint64("height", 0, "first height that the new version executes")
	cmd.Flags().Uint64("app-version", 0, "the new version of the state machine")
	cmd.Flags().Bool("cancel", false, "cancel the planned upgrade of that name")
	return cmd
}

func upgrade(ctx context.Context, s *sender, o *upgradeOptions, args []string) (tx.Body, error) {
	p, err := s.self(ctx)
	if err != nil {
		return nil, err
	}
	u, err := s.Upgrade(ctx)
	if err != nil {
		return nil, err
	}
	if u.Planned != nil && !o.Cancel {
		s.run.Warn(fmt.Sprintf("upgrade %q to version %d at height %d is planned: this one replaces it once it is approved",
			u.Planned.Name, u.Planned.Version, u.Planned.Height))
	}
	return &tx.Upgrade{Participant: p.Index, Name: args[0], Height: o.Height, Version: o.Version, Nonce: p.Nonce + 1}, nil
}
