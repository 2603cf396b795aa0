package consortium

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/plan"
)

// Genesis returns the group of commands.
func Genesis() *cobra.Command {
	return command.Group("genesis", "Check genesis files", command.New(&cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a genesis file (default: the home's); warn of what weakens a guarantee",
		Example: "  spdl genesis validate --home ./node\n" +
			"  spdl genesis validate genesis.json -o json",
		Args: cobra.MaximumNArgs(1),
	}, runValidate))
}

// Verdict is the result of validate.
type Verdict struct {
	File     string   `json:"file"`
	Valid    bool     `json:"valid"`
	Error    string   `json:"error,omitempty"`
	Warnings []string `json:"warnings"`
}

func runValidate(r *command.Run, args []string) error {
	v := Verdict{File: filepath.Join(r.Home, "config", "genesis.json"), Warnings: []string{}}
	if len(args) > 0 {
		v.File = args[0]
	}
	data, err := os.ReadFile(v.File)
	if err != nil {
		return err
	}
	doc, err := genesis.Read(data)
	if !json.Valid(data) {
		err = fmt.Errorf("it is no JSON, as a genesis is: %w", err)
	}
	if err == nil {
		g, warnings, wrong := home.CheckGenesis(doc)
		v.Warnings, err = append(v.Warnings, warnings...), wrong
		if err == nil {
			v.Warnings = append(v.Warnings, plan.Doubts(g.Params, len(g.Participants))...)
		}
	}
	v.Valid = err == nil
	if err != nil {
		v.Error = err.Error()
	}
	printed := r.Show(v, func(w io.Writer) {
		for _, warning := range v.Warnings {
			fmt.Fprintln(w, "warning:", warning)
		}
		if v.Valid {
			fmt.Fprintln(w, v.File, "is valid")
		}
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", v.File, err)
	}
	return errors.Join(printed, err)
}
