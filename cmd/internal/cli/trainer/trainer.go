// Package trainer has the commands for external models: one writes a study, the other checks its trainer.
package trainer

import (
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Commands returns the group of commands.
func Commands() *cobra.Command {
	return command.Group("trainer", "Check and hash a trainer, the program of your own model",
		checkCommand(), hashCommand())
}
