package consortium

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

type upgradeOptions struct {
	signOptions
	height, version uint64
	cancel          bool
}

// checkPlan requires either --height and --app-version or --cancel.
func (o *upgradeOptions) checkPlan() error {
	planned := o.height != 0 || o.version != 0
	switch {
	case o.cancel && planned:
		return command.Usage(errors.New("--cancel with --height or --app-version: one of them"))
	case !o.cancel && (o.height == 0 || o.version == 0):
		return command.Usage(errors.New("--height and --app-version are needed, or --cancel"))
	}
	return nil
}

func txUpgrade() *cobra.Command {
	o := &upgradeOptions{}
	o.check = o.checkPlan
	short := "Propose that another version of the state machine executes the chain from a height on"
	cmd := acting(&cobra.Command{
		Use: "upgrade NAME", Short: short, Args: cobra.ExactArgs(1),
		Long: short + `.
More than two thirds of the active participants must approve. Every node of the running version then stops before that
height by itself, with exit code 4, and goes on once a release of the new version (spdl version prints it) is started.
A later upgrade that is approved replaces the one that is planned; --cancel takes the planned one of that name away.`,
		Example: "  spdl tx upgrade v0.2 --home ./node --height 120000 --app-version 7\n" +
			"  spdl tx upgrade v0.2 --home ./node --cancel",
	}, &o.signOptions, o.body)
	command.Flag(cmd, &o.height, "height", 0, "first height that the new version executes")
	command.Flag(cmd, &o.version, "app-version", 0, "the new version of the state machine")
	command.Flag(cmd, &o.cancel, "cancel", false, "cancel the planned upgrade of that name")
	return cmd
}

func (o *upgradeOptions) body(ctx context.Context, s *sender, p app.Participant, args []string) (tx.Body, error) {
	body := &tx.Upgrade{Participant: p.Index, Name: args[0], Height: o.height, Version: o.version, Nonce: p.Nonce + 1}
	return body, s.warnUpgrade(ctx, body)
}

// warnUpgrade warns of a planned upgrade that a proposed one replaces, and of a version that is not the next.
func (s *sender) warnUpgrade(ctx context.Context, proposed *tx.Upgrade) error {
	if proposed.Version == 0 { // it cancels the planned one
		return nil
	}
	u, err := client.Ask[query.UpgradeState](ctx, s.Client, "/upgrade")
	if err != nil {
		return err
	}
	if u.Planned != nil {
		s.run.Warn(fmt.Sprintf("upgrade %q to version %d at height %d is planned: this one replaces it once it is approved",
			u.Planned.Name, u.Planned.Version, u.Planned.Height))
	}
	if text := skipsVersions(u.Version, proposed.Version); text != "" {
		s.run.Warn(text)
	}
	return nil
}

// skipsVersions returns a warning about an upgrade from the running version to another one than the next, "" for the
// next.
func skipsVersions(running, next uint64) string {
	if next == running+1 {
		return ""
	}
	return fmt.Sprintf("the chain runs version %d of the state machine, and --app-version is %d, not %d: without a "+
		"release for it (spdl version prints its version) every node stops at that height", running, next, running+1)
}
