package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func init() { cobra.EnableCommandSorting = false } // groups have their commands in the order of use

// helpWidth is the width, in characters, at which cobra wraps the texts of flags.
const helpWidth = 100

// setHelp gives a root cobra's help, with wrapped flags, and beneath the root's what holds for every command.
func setHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages",
		fmt.Sprint("FlagUsagesWrapped ", helpWidth)) +
		fmt.Sprintf(`{{if not .HasParent}}
Environment:
  SPDL_NAME  the flag --name of any command, as SPDL_NODE for --node
  NO_COLOR   if it is set, no colours

Exit codes:
  0  done
  %d  failed
  %d  wrong use
  %d  the node did not answer
  %d  the chain is of another version than this program
{{end}}`, Failure, WrongUse, Unreachable, Upgrade))
}
