// Package audit has the commands that prove a chain by re-executing it.
package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"
	"github.com/spdl/spdl/cmd/spdl/internal/cli/query"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/spdl/internal/audit"
)

func Commands() *cobra.Command {
	return command.Group("audit", "Prove a chain by re-executing it", auditReplay(), auditArchive())
}

// sourceFlags say where blocks come from.
func sourceFlags(cmd *cobra.Command) {
	cmd.Flags().String("node", "", "RPC address of a node to ask (default: the databases of --home, whose node must not run)")
}

// auditSource opens what the flags name.
func auditSource(ctx context.Context, file string) (audit.Source, error) {
	node := viper.GetString("node")
	switch {
	case file != "" && node != "":
		return nil, command.Usage(errors.New("an archive and --node: one of them"))
	case file != "":
		return audit.OpenArchive(file)
	case node != "":
		c, err := client.New(node)
		if err != nil {
			return nil, command.Usage(err)
		}
		return audit.OpenRemote(ctx, c)
	}
	c, _, err := command.LoadHome()
	if err != nil {
		return nil, err
	}
	return audit.OpenHome(c)
}

func auditReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay [ARCHIVE]",
		Short: "Re-execute all training from the blocks and name the first divergence",
		Long: "Re-execute all training from the blocks and name the first divergence: of a stopped node's --home, of an ARCHIVE, or of a\n" +
			"running node by --node. Nothing that the node computed is used. Every block is checked against its header, the header\n" +
			"against the signatures of the validators whom the replay derives from genesis, and the application hash at every height\n" +
			"against the next header. A divergence is exit code 1. Whoever audits should bring a copy of the genesis: --genesis.",
		Args: cobra.MaximumNArgs(1),
		RunE: runReplay,
	}
	sourceFlags(cmd)
	cmd.Flags().String("genesis", "", "genesis.json to trust (default: the source's)")
	return cmd
}

func runReplay(cmd *cobra.Command, args []string) (err error) {
	src, err := auditSource(cmd.Context(), first(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	bar := NewBar(cmd)
	o := audit.Options{Progress: bar.Show}
	if file := viper.GetString("genesis"); file != "" {
		if o.Genesis, err = abci.ReadGenesisFile(file); err != nil {
			return err
		}
	}
	r, err := audit.Run(cmd.Context(), src, o)
	bar.End()
	if err != nil {
		return err
	}
	if err := command.Show(cmd.OutOrStdout(), r, func(w io.Writer) error { return auditText(w, r) }); err != nil {
		return err
	}
	if r.Divergence != nil {
		return r.Divergence
	}
	return nil
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// Bar shows how far a replay is, at most once a second.
type Bar struct {
	w        io.Writer
	terminal bool
	last     time.Duration
	shown    bool
}

// NewBar returns the progress line of a command.
func NewBar(cmd *cobra.Command) *Bar {
	return &Bar{w: cmd.ErrOrStderr(), terminal: command.IsTerminal(os.Stderr)}
}

// Show shows the progress, if the last time is long enough ago.
func (p *Bar) Show(at audit.Progress) {
	every := time.Second
	if !p.terminal {
		every = 10 * time.Second // for a log
	}
	if at.Elapsed-p.last < every {
		return
	}
	p.last, p.shown = at.Elapsed, true
	line := fmt.Sprintf("height %d, %.0f %%, %v left", at.Height, 100*at.Done, at.Left.Round(time.Second))
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.w, line)
	}
}

// End clears the line.
func (p *Bar) End() {
	if p.terminal && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func auditText(w io.Writer, r *audit.Report) error {
	fmt.Fprintf(w, "chain         %s\nheights       %d to %d, %d transactions\nrounds        %d in %d epochs, %d gradients\napp hash      %s\n",
		command.Plain(r.ChainID), r.First, r.Last, r.Transactions, r.Rounds, r.Epochs, r.Gradients, r.AppHash)
	fmt.Fprintf(w, "signatures    %d of validators verified\n", r.Signatures)
	fmt.Fprintf(w, "time          %.2f s for %.2f s of the chain, ratio %.3f\n", r.ReplaySeconds, r.ChainSeconds, r.Ratio)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.BadLeaders) > 0 {
		fmt.Fprintf(t, "\nleaders that were passed over: %d\nparticipant\tepoch\tround\tview\tclosed by\theight\n", len(r.BadLeaders))
	}
	for _, b := range r.BadLeaders {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\n", b.Participant, b.Epoch, b.Round, b.View, b.ClosedBy, b.Height)
	}
	if len(r.Offences) > 0 {
		fmt.Fprintf(t, "\nproven equivocations: %d\nparticipant\tof\tepoch\tround\tview\tproven at\n", len(r.Offences))
	}
	for _, o := range r.Offences {
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\n", o.Participant, tx.Kind(o.Kind), o.Epoch, o.Round, o.View, o.Height)
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	if err := query.PrivacyText(w, r.Spend); err != nil {
		return err
	}
	d := r.Divergence
	if d == nil {
		tip := ""
		if !r.TipChecked {
			tip = "; the hash after the last block is in no header yet"
		}
		_, err := fmt.Fprintf(w, "\nthe chain is what its blocks say, at every height%s\n", tip)
		return err
	}
	fmt.Fprintf(w, "\nDIVERGENCE at height %d, %s: %s\n", d.Height, d.Kind, command.Plain(d.Reason))
	for _, b := range d.Transactions {
		who := ""
		if b.Participant != nil {
			who = fmt.Sprintf(" of participant %d", *b.Participant)
		}
		fmt.Fprintf(w, "  transaction %d, %s%s, %s: %s\n", b.Index, b.Kind, who, b.Hash, command.Plain(b.Reason))
	}
	for _, p := range d.Parts {
		fmt.Fprintf(w, "  %s: the node has %s, the replay %s\n", command.Plain(p.Key), command.Plain(p.Expected), command.Plain(p.Found))
	}
	return nil
}

func auditArchive() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive --out FILE",
		Short: "Write genesis and all blocks into one file, for audit replay elsewhere",
		Long: "Write genesis and all blocks into one file, for audit replay elsewhere: gzip over one protobuf message, as\n" +
			"docs/OPERATING.md describes. Nothing is checked in writing; the replay of the archive checks all.",
		RunE: runArchive,
	}
	sourceFlags(cmd)
	cmd.Flags().String("out", "", "file to write; it must not exist")
	return cmd
}

func runArchive(cmd *cobra.Command, _ []string) (err error) {
	path := viper.GetString("out")
	if path == "" {
		return command.Usage(errors.New("--out is needed: the file to write"))
	}
	src, err := auditSource(cmd.Context(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s exists already", path)
	}
	// What has the name is whole: it is written beside and renamed.
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	out := bufio.NewWriter(f)
	bar, start := NewBar(cmd), time.Now()
	blocks, err := audit.WriteArchive(cmd.Context(), out, src, func(blocks uint64, done float64) {
		bar.Show(audit.At(uint64(src.Genesis().InitialHeight)-1+blocks, done, time.Since(start)))
	})
	bar.End()
	if err = errors.Join(err, out.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(f.Name(), 0o644), os.Rename(f.Name(), path)); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	made := struct {
		File   string `json:"file"`
		Blocks uint64 `json:"blocks"`
		Bytes  int64  `json:"bytes"`
	}{path, blocks, info.Size()}
	return command.Show(cmd.OutOrStdout(), made, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %d blocks, %d bytes\n", made.File, made.Blocks, made.Bytes)
		return err
	})
}
