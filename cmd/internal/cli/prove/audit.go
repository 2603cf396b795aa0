// Package prove has the commands that prove what happened: audit re-executes a chain, model exports and measures a
// trained model, verify checks a file or a node's answer against a trusted header, and dossier writes the dossier of a
// training.
package prove

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/watch"
)

// Audit returns the group of commands.
func Audit() *cobra.Command {
	return command.Group("audit", "Prove a chain by re-executing it", auditReplay(), auditLog(),
		auditContributions(), auditWithdraw(), auditArchive())
}

// Blocks are the options that name the blocks of a chain to replay, and the genesis to trust.
type Blocks struct{ node, genesis string }

// Flags declares the options.
func (o *Blocks) Flags(cmd *cobra.Command) {
	nodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.genesis, "genesis", "", "genesis.json to trust (default: the source's)")
}

func nodeFlag(cmd *cobra.Command, node *string) {
	command.Flag(cmd, node, "node", "", "RPC address of a node to ask (default: the databases of --home, whose node "+
		"must not run)")
}

// With opens the archive, node or home that the options and args name, and calls use with it. It also passes the
// genesis document of --genesis, if it is given, and a progress bar, which it ends after the call.
func (o *Blocks) With(r *command.Run, args []string, use func(src audit.Source, how audit.Options) error) (err error) {
	src, err := source(r, o.node, strings.Join(args, ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	bar := NewBar(r.Err)
	how := audit.Options{Progress: bar.Show}
	if o.genesis != "" {
		if how.Genesis, err = genesis.ReadFile(o.genesis); err != nil {
			return err
		}
	}
	err = use(src, how)
	bar.End()
	return err
}

// An inquiry replays a chain, and returns what it found out, the function that prints that as text, and the report of
// the replay.
type inquiry func(src audit.Source, how audit.Options) (any, func(io.Writer), *audit.Report, error)

// show shows what an inquiry found out. A replay that ended before the end of the chain is then an error.
func (o *Blocks) show(r *command.Run, args []string, ask inquiry) error {
	var value any
	var text func(io.Writer)
	var found *audit.Report
	err := o.With(r, args, func(src audit.Source, how audit.Options) (err error) {
		value, text, found, err = ask(src, how)
		return err
	})
	if err == nil {
		err = r.Show(value, text)
	}
	if err != nil {
		return err
	}
	return found.Short()
}

// source opens the archive, the node or the home.
func source(r *command.Run, node, file string) (audit.Source, error) {
	switch {
	case file != "" && node != "":
		return nil, command.Usage(errors.New("an archive and --node: one of them"))
	case file != "":
		return audit.OpenArchive(file)
	case node != "":
		c, err := r.Client(node)
		if err != nil {
			return nil, err
		}
		return audit.OpenRemote(r.Context, c)
	}
	c, _, err := r.LoadHome()
	if errors.Is(err, fs.ErrNotExist) && !r.Named {
		return nil, command.Usage(fmt.Errorf("name an archive, a node with --node, or a home with --home: %w", err))
	}
	if err != nil {
		return nil, err
	}
	src, err := audit.OpenHome(c)
	if errors.Is(err, audit.ErrRuns) {
		return nil, fmt.Errorf("%w; or ask it: %s", err, r.Asking(c.RPC.ListenAddress))
	}
	return src, err
}

func auditReplay() *cobra.Command {
	o := &Blocks{}
	cmd := command.New(&cobra.Command{
		Use:   "replay [ARCHIVE]",
		Short: "Re-execute all training from the blocks and name the first divergence",
		Long: `Re-execute all training from the blocks and name the first divergence: of a stopped node's --home, of an
ARCHIVE, or of a running node by --node. Nothing that the node computed is used. Every block is checked
against its header, the header against the signatures of the validators whom the replay derives from genesis,
and the application hash at every height against the next header. A divergence is exit code 1. The heights of
another version of the state machine are not replayed: what agrees is printed, with exit code 4. An auditor
should bring a copy of the genesis: --genesis.`,
		Example: "  spdl audit replay chain.spdl --genesis genesis.json\n" +
			"  spdl audit replay --node tcp://127.0.0.1:26657\n" +
			"  spdl audit replay --home ./node",
		Args: cobra.MaximumNArgs(1),
	}, func(r *command.Run, args []string) error {
		return o.show(r, args, func(src audit.Source, how audit.Options) (any, func(io.Writer), *audit.Report, error) {
			found, err := audit.Run(r.Context, src, how)
			return found, func(w io.Writer) { auditText(w, found) }, found, err
		})
	})
	o.Flags(cmd)
	return cmd
}

// Bar shows the progress of a replay, at most once a second.
type Bar struct {
	w        io.Writer
	terminal bool
	last     time.Duration
	shown    bool
}

// NewBar returns a progress line that is written to w.
func NewBar(w io.Writer) *Bar { return &Bar{w: w, terminal: command.IsTerminal(w)} }

// Show shows the progress, unless it last did so less than a second ago, or 10 s if the output is not a terminal.
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

// auditText prints a report: the chain, its leaders and offences, its privacy, and the verdict.
func auditText(w io.Writer, r *audit.Report) {
	fmt.Fprintf(w, "chain         %s\nheights       %d to %d, %d transactions\nrounds        %d in %d epochs, %d "+
		"gradients\napp hash      %s\nmodel hash    %s\n",
		command.Plain(r.ChainID), r.First, r.Last, r.Transactions, r.Rounds, r.Epochs, r.Gradients, r.AppHash, r.ModelHash)
	fmt.Fprintf(w, "signatures    %d of validators verified\n", r.Signatures)
	fmt.Fprintf(w, "time          %.2f s for %.2f s of the chain, ratio %.3f\n", r.ReplaySeconds, r.ChainSeconds, r.Ratio)
	if n := len(r.BadLeaders); n > 0 {
		command.Table(w, fmt.Sprintf("\nleaders that were passed over: %d\nparticipant\tepoch\tround\tview\t"+
			"closed by\theight", n), r.BadLeaders, func(b audit.BadLeader) string {
			return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d", b.Participant, b.Epoch, b.Round, b.View, b.ClosedBy, b.Height)
		})
	}
	if n := len(r.Offences); n > 0 {
		command.Table(w, fmt.Sprintf("\nproven offences: %d\nparticipant\tof\tepoch\tround\tview\tproven at", n),
			r.Offences, func(o app.Offence) string {
				return fmt.Sprintf("%d\t%s\t%d\t%d\t%d\t%d", o.Participant, o.Cause(), o.Epoch, o.Round, o.View, o.Height)
			})
	}
	fmt.Fprintln(w)
	watch.PrivacyText(w, r.Spend)
	if r.Divergence != nil {
		divergenceText(w, r.Divergence)
		return
	}
	agrees := "at every height"
	switch {
	case r.OtherVersion != nil:
		agrees = fmt.Sprintf("up to height %d", r.Last)
	case !r.TipChecked:
		agrees += "; the hash after the last block is in no header yet"
	}
	fmt.Fprintf(w, "\nthe chain is what its blocks say, %s\n", agrees)
}

// divergenceText prints a divergence, its transactions at fault and the differing values.
func divergenceText(w io.Writer, d *audit.Divergence) {
	fmt.Fprintf(w, "\nDIVERGENCE at height %d, %s: %s\n", d.Height, d.Kind, command.Plain(d.Reason))
	for _, b := range d.Transactions {
		who := ""
		if b.Participant != nil {
			who = fmt.Sprintf(" of participant %d", *b.Participant)
		}
		fmt.Fprintf(w, "  transaction %d, %s%s, %s: %s\n", b.Index, b.Kind, who, b.Hash, command.Plain(b.Reason))
	}
	for _, p := range d.Parts {
		fmt.Fprintf(w, "  %s: the node has %s, the replay %s\n", command.Plain(p.Key), command.Plain(p.Expected),
			command.Plain(p.Found))
	}
}

func auditArchive() *cobra.Command {
	o := &archiveOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "archive --out FILE",
		Short: "Write genesis and all blocks into one file, for audit replay elsewhere",
		Long: "Write genesis and all blocks into one file, for audit replay elsewhere: gzip over one protobuf message, as\n" +
			"docs/VERIFY.md describes. Writing checks nothing; the replay of the archive checks everything.",
		Example: "  spdl audit archive --out chain.spdl --node tcp://127.0.0.1:26657",
	}, o.run)
	nodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.out, "out", "", "file to write; it must not exist").Required()
	return cmd
}

type archiveOptions struct{ node, out string }

func (o *archiveOptions) run(r *command.Run, _ []string) (err error) {
	path := o.out
	if err := command.CheckOut("out", path, ""); err != nil {
		return err
	}
	src, err := source(r, o.node, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	// Only a complete file gets the name: it is written to a temporary one and renamed.
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	out := bufio.NewWriter(f)
	bar, start := NewBar(r.Err), time.Now()
	blocks, err := audit.WriteArchive(r.Context, out, src, func(blocks uint64, done float64) {
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
	return r.Show(made, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %d blocks, %d bytes\n", made.File, made.Blocks, made.Bytes)
	})
}
