package study

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func hashCommand() *cobra.Command {
	o := &hashOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "hash DIR",
		Short: "Print the hash of a trainer's code, which model.trainer names and workers enforce",
		Long: "Print the hash of a trainer's code, which model.trainer names and workers enforce, and the files that it\n" +
			"covers. docs/MODELS.md says which those are. Nothing of the trainer is run.",
		Example: "  spdl trainer hash ./study\n  spdl trainer hash ./study --params ./study/params.json",
		Args:    cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.params, "params", "", "JSON file of parameters, into which the hash is written as model.trainer")
	return cmd
}

type hashOptions struct{ params string }

func (o *hashOptions) run(r *command.Run, args []string) error {
	code, err := trainer.HashCode(args[0])
	if err != nil {
		return err
	}
	if o.params != "" {
		if err := writeHash(o.params, code.Hash); err != nil {
			return command.Usage(fmt.Errorf("--params: %w", err))
		}
	}
	return r.Show(code, func(w io.Writer) {
		command.Table(w, "", code.Files, func(f trainer.CodeFile) string {
			mode := map[bool]string{true: "executable"}[f.Executable]
			return fmt.Sprintf("%s\t%d bytes\t%s", command.Plain(f.Path), f.Bytes, mode)
		})
		fmt.Fprintln(w, code.Hash)
	})
}

// writeHash sets model.trainer of a file of parameters.
func writeHash(file, hash string) error {
	p, err := preset.Load(file)
	if err != nil {
		return err
	}
	if p.Model.Kind != params.ModelExternal {
		return fmt.Errorf("%s: model.kind is %q, which has no trainer: want %q", file, p.Model.Kind, params.ModelExternal)
	}
	p.Model.Trainer = hash
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// csvCommand returns the command that writes what a trainer gets of a Parquet file.
func csvCommand() *cobra.Command {
	return command.New(&cobra.Command{
		Use:     "csv FILE.parquet OUT.csv",
		Short:   "Write a Parquet file's rows as CSV, as a trainer gets them",
		Example: "  spdl trainer csv patients.parquet patients.csv",
		Args:    cobra.ExactArgs(2),
	}, func(_ *command.Run, args []string) error { return table.WriteCSV(args[0], args[1]) })
}
