// Package node holds the group "Node" of the help: a home, and the processes that run from it.
package node

import (
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/node"
	"github.com/spdl/spdl/cmd/internal/cli/signer"
	"github.com/spdl/spdl/cmd/internal/cli/worker"
)

// Commands returns the commands of the group.
func Commands() []*cobra.Command {
	return []*cobra.Command{node.Init(), node.Start(), worker.Command(), signer.Command(), node.Config(), node.Backup(),
		node.Restore(), node.ResetState(), node.Reset(), node.ShowNodeID(), node.ShowValidator(), node.Version()}
}
