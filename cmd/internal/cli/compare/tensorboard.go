package compare

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/history"
	"github.com/spdl/spdl/cmd/internal/tfevents"
)

// TensorBoard returns the command that writes scalars for TensorBoard.
func TensorBoard() *cobra.Command {
	o := &boardOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "tensorboard RUN...",
		Short: "Write a chain's scalars as TensorBoard's event files",
		Long: `Write a chain's scalars as TensorBoard's event files, a folder for each run.

A RUN is the home of a stopped node or localnet, an archive of spdl audit archive,
or the address of a node. @N behind it takes epoch N alone. The step is the
number of closed rounds, the time that of the round's block. tensorboard --logdir
of the folder lays the runs over each other.`,
		Example: `  spdl tensorboard ./net-krum ./net-median --out runs && tensorboard --logdir runs`,
		Args:    cobra.MinimumNArgs(1),
	}, o.run)
	o.models.Flags(cmd)
	command.Flag(cmd, &o.out, "out", "runs", "folder to write to")
	command.Flag(cmd, &o.points, "points", 0,
		"max number of rounds of a run: every second, fourth or eighth (default: all)")
	return cmd
}

type boardOptions struct {
	models command.Models
	out    string
	points int
}

// wrote is what the command answers for a run.
type wrote struct {
	Run    string `json:"run"`
	File   string `json:"file"`
	Rounds int    `json:"rounds"`
}

func (o *boardOptions) run(r *command.Run, args []string) error {
	if o.points < 0 || o.points%2 != 0 {
		return command.Usage(fmt.Errorf("--points is %d, want an even number, or 0 for all", o.points))
	}
	if err := distinct(args); err != nil {
		return err
	}
	all := []wrote{}
	taken := map[string]bool{}
	for _, arg := range args {
		name := nameOf(arg)
		for base, i := name, 2; taken[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		taken[name] = true
		one, err := o.write(r, arg, filepath.Join(o.out, strings.ReplaceAll(name, ":", "-")))
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		all = append(all, one)
	}
	return r.Show(all, func(w io.Writer) error {
		for _, x := range all {
			fmt.Fprintf(w, "%s: %d rounds\n", x.File, x.Rounds)
		}
		_, err := fmt.Fprintf(w, "tensorboard --logdir %s\n", o.out)
		return err
	})
}

// write writes the events of a run. The chain determines the file's name, so a second run of the
// command replaces the file.
func (o *boardOptions) write(r *command.Run, arg, dir string) (out wrote, err error) {
	where, epoch, err := split(arg)
	if err != nil {
		return out, err
	}
	h, _, err := read(r, where, o.models, o.points)
	if err != nil {
		return out, err
	}
	var rounds []history.Round
	for _, x := range h.Rounds {
		if epoch == nil || x.Epoch == *epoch {
			rounds = append(rounds, x)
		}
	}
	if len(rounds) == 0 {
		return out, fmt.Errorf("%w: in epoch %d of %d", history.ErrEmpty, *epoch, h.Audit.Epochs)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return out, err
	}
	began := rounds[0].Time
	path := filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%d.spdl", began.Unix()))
	file, err := os.Create(path)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffer := bufio.NewWriter(file)
	w, err := tfevents.New(buffer, began)
	if err != nil {
		return out, err
	}
	for _, x := range rounds {
		step := int64(x.At)
		if epoch != nil {
			step = int64(x.Round) + 1
		}
		if err := w.Scalars(x.Time, step, scalars(x)); err != nil {
			return out, err
		}
	}
	return wrote{Run: filepath.Base(dir), File: path, Rounds: len(rounds)}, buffer.Flush()
}

// scalars returns the numbers of a round by the tags under which TensorBoard shows them.
func scalars(x history.Round) []tfevents.Scalar {
	out := []tfevents.Scalar{
		{Tag: "model/accuracy", Value: x.Accuracy}, {Tag: "model/loss", Value: x.Loss},
		{Tag: "model/delta_norm", Value: x.DeltaNorm},
		{Tag: "round/seconds", Value: x.Took}, {Tag: "round/view", Value: float64(x.View)},
		{Tag: "round/included", Value: float64(len(x.Contributions))},
		{Tag: "round/selected", Value: float64(x.Selected())},
		{Tag: "epsilon/largest", Value: x.Epsilon},
	}
	for i, spent := range x.Spends {
		out = append(out, tfevents.Scalar{Tag: fmt.Sprintf("epsilon/participant_%d", i), Value: spent})
	}
	for i, reputation := range x.Reputations {
		out = append(out, tfevents.Scalar{Tag: fmt.Sprintf("reputation/participant_%d", i), Value: reputation})
	}
	return out
}
