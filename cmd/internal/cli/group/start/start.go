// Package start holds the group "Start here" of the help: trainings on one machine, plans, and
// trainers.
package start

import (
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/plan"
	"github.com/spdl/spdl/cmd/internal/cli/testnet"
	"github.com/spdl/spdl/cmd/internal/cli/trainer"
)

// Commands returns the commands of the group.
func Commands() []*cobra.Command {
	return []*cobra.Command{testnet.Commands(), plan.Command(), plan.Rules(), trainer.New(), trainer.Commands()}
}
