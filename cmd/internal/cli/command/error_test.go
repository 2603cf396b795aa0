package command

import (
	"fmt"
	"testing"

	"github.com/spdl/spdl/internal/lists"
)

// TestExitCodes: docs/API.md lists the exit codes with the comments of error.go.
func TestExitCodes(t *testing.T) {
	table := "| exit | meaning |\n|---|---|\n| 0 | done |\n"
	codes := map[string]int{"Failure": Failure, "WrongUse": WrongUse, "Unreachable": Unreachable, "Upgrade": Upgrade}
	for _, c := range lists.Constants(t, "error.go", "") {
		table += fmt.Sprintf("| %d | %s |\n", codes[c.Name], c.Comment)
	}
	lists.Hold(t, "API.md", table)
}
