package experiment

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/testnet/experiment"
)

// show prints the tables of experiments whose files are in a folder.
func show(r *command.Run, dir string, chosen []experiment.Experiment) error {
	var all []experiment.Summary
	for _, e := range chosen {
		s, err := e.Summary(dir)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	return r.Show(all, func(out io.Writer) {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, s := range all {
			fmt.Fprintf(w, "%s\n", s.Title)
			for _, note := range s.Notes {
				if note.Name == "kind" || note.Name == "seed" {
					fmt.Fprintf(w, "%s: %s\n", note.Name, note.Text)
				}
			}
			for _, row := range append([][]string{s.Table.Head}, s.Table.Rows...) {
				fmt.Fprintln(w, strings.Join(row, "\t"))
			}
		}
		_ = w.Flush()
	})
}
