// Package prove holds the group "Prove" of the help: models, replays and dossiers that others can
// check.
package prove

import (
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/audit"
	"github.com/spdl/spdl/cmd/internal/cli/dossier"
	"github.com/spdl/spdl/cmd/internal/cli/model"
	"github.com/spdl/spdl/cmd/internal/cli/verify"
)

// Commands returns the commands of the group.
func Commands() []*cobra.Command {
	return []*cobra.Command{model.Commands(), verify.Commands(), audit.Commands(), dossier.Command()}
}
