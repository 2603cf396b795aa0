package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/testnet"
)

// testnetBenchCommand measures a round beside an application that only stores.
func testnetBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "bench",
		Short:  "Measure a round beside an application that only stores the same bytes",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			nets, err := benchNets()
			if err != nil {
				return usageError{err}
			}
			var all []testnet.Comparison
			for _, m := range nets {
				c, err := testnet.Bench(cmd.Context(), m, viper.GetInt("repeat"), os.Stderr)
				if err != nil {
					return err
				}
				all = append(all, c)
			}
			return show(cmd.OutOrStdout(), all, func(w io.Writer) error {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
				fmt.Fprintln(t, "N\ttx bytes\tapplication\tmedian ms\tp90 ms\tblocks/round\tCPU s/round\tMB sent/round\tratio\t")
				for _, c := range all {
					row := func(name string, f testnet.Figures, ratio string) {
						fmt.Fprintf(t, "%d\t%d\t%s\t%.1f\t%.1f\t%.2f\t%.3f\t%.2f\t%s\t\n", c.Validators, c.TxBytes, name, f.Median, f.P90, f.Blocks, f.CPU, f.Bytes/1e6, ratio)
					}
					row("spdl", c.SPDL, fmt.Sprintf("%.2f", c.Ratio))
					row("stores only", c.Baseline, "1")
				}
				return t.Flush()
			})
		},
	}
	manifestFlags(cmd)
	cmd.Flags().IntSlice("sizes", []int{4, 20}, "numbers of validators to measure")
	cmd.Flags().Int("repeat", 3, "runs of each")
	cmd.Flags().Lookup("preset").DefValue = "paper"
	_ = cmd.Flags().Set("preset", "paper")
	_ = cmd.Flags().MarkHidden("validators")
	return cmd
}

// benchNets are the nets to measure, all of which can be.
func benchNets() (nets []testnet.Manifest, err error) {
	if viper.IsSet("validators") {
		return nil, errors.New("--validators: bench takes --sizes")
	}
	if err := zeroFlags("rounds", "alpha", "seed", "neighbours"); err != nil {
		return nil, err
	}
	for _, n := range viper.GetIntSlice("sizes") {
		m := manifest("")
		m.Validators = n
		if n == 0 { // a manifest's default
			return nil, fmt.Errorf("--sizes has 0, want 1 to %d", testnet.MaxValidators)
		}
		if err := testnet.CheckBench(m, viper.GetInt("repeat")); err != nil {
			return nil, err
		}
		nets = append(nets, m)
	}
	return nets, nil
}
