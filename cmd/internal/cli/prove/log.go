package prove

import (
	"bytes"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

type logOptions struct {
	Blocks
	csv   bool
	kinds []string
}

func auditLog() *cobra.Command {
	o := &logOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "log [ARCHIVE]",
		Short: "List who proposed and approved what, and what became of it, with proofs",
		Long: `List who proposed and approved what, at which height, and what became of it: members, keys, epochs, upgrades
and evidence, of a stopped node's --home, of an ARCHIVE, or of a running node by --node. The chain is replayed
as by audit replay, so the list is complete and its results are the state machine's; a divergence is exit code
1, and the list ends before it. With -o json every entry has its transaction, the path to the header's data
hash, and the signed header: spdl verify log proves the file without a node. --csv is for a spreadsheet.`,
		Example: "  spdl audit log chain.spdl -o json > log.json && spdl verify log log.json --genesis genesis.json",
		Args:    cobra.MaximumNArgs(1),
	}, o.run)
	o.Flags(cmd)
	command.Flag(cmd, &o.csv, "csv", false, "write CSV: a line for each founder and each entry")
	command.Flag(cmd, &o.kinds, "kind", nil, "kinds to print in the table and in CSV, as join,approve (default: "+
		"all)").Values(audit.Kinds()...)
	return cmd
}

func (o *logOptions) run(r *command.Run, args []string) (err error) {
	if o.csv && r.JSON {
		return command.Usage(errors.New("--csv and -o json: one of them"))
	}
	if len(o.kinds) > 0 && r.JSON {
		return command.Usage(errors.New("--kind and -o json: a log in JSON is whole, its reader chooses"))
	}
	return o.show(r, args, func(src audit.Source, how audit.Options) (any, func(io.Writer), *audit.Report, error) {
		log, found, err := audit.RunLog(r.Context, src, how)
		if err != nil {
			return nil, nil, nil, err
		}
		if log.Keep(o.kinds); !o.csv {
			return log, log.WriteText, found, nil
		}
		var rows bytes.Buffer
		err = log.WriteCSV(&rows)
		return log, func(w io.Writer) { _, _ = rows.WriteTo(w) }, found, err
	})
}
