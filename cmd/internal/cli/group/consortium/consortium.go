// Package consortium holds the group "Consortium" of the help: the founding of a chain, and its
// government by the members.
package consortium

import (
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/consent"
	"github.com/spdl/spdl/cmd/internal/cli/consortium"
	"github.com/spdl/spdl/cmd/internal/cli/genesis"
	"github.com/spdl/spdl/cmd/internal/cli/keys"
	"github.com/spdl/spdl/cmd/internal/cli/tx"
)

// Commands returns the commands of the group.
func Commands() []*cobra.Command {
	return []*cobra.Command{consortium.Commands(), genesis.Commands(), keys.Commands(), tx.Commands(), consent.Command()}
}
