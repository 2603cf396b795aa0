// Package look holds the group "Look" of the help: what a chain and a node do.
package look

import (
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/doctor"
	"github.com/spdl/spdl/cmd/internal/cli/explorer"
	"github.com/spdl/spdl/cmd/internal/cli/query"
	"github.com/spdl/spdl/cmd/internal/cli/top"
)

// Commands returns the commands of the group.
func Commands() []*cobra.Command {
	return []*cobra.Command{query.Commands(), query.NodeStatus(), top.Command(), explorer.Command(), doctor.Command(),
		doctor.Debug()}
}
