package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/testnet/experiment"
)

// reportCommand joins an experiment's files into one page.
func reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "report DIR",
		Short:   "Join the figures of a folder into one HTML file that needs no network",
		Example: "  spdl report build/figures",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			page, err := experiment.Report(args[0])
			if err != nil {
				return err
			}
			path := viper.GetString("file")
			if path == "" {
				path = filepath.Join(args[0], "report.html")
			}
			if err := os.WriteFile(path, page, 0o644); err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), map[string]string{"file": path}, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, path)
				return err
			})
		},
	}
	cmd.Flags().String("file", "", "where the page goes (default: DIR/report.html)")
	return cmd
}
