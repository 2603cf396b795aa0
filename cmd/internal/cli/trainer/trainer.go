// Package trainer has the commands for external models: one writes a study, the other checks its
// trainer.
package trainer

import (
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Commands returns the group of commands.
func Commands() *cobra.Command {
	return command.Group("trainer", "Check and hash the program that computes the gradients of a model of your own",
		checkCommand(), hashCommand())
}
