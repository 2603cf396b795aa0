package consortium

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/study"
	"github.com/spdl/spdl/cmd/internal/founding"
	"github.com/spdl/spdl/cmd/internal/plan"
)

type newOptions struct {
	chainID  string
	members  []string
	deadline string
	force    bool
	shape    study.Options
}

func newCommand() *cobra.Command {
	o := &newOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "new FOLDER",
		Short: "Write the proposal of a consortium: chain, members and parameters",
		Long: "Write the proposal of a consortium into FOLDER/" + founding.ProposalFile + ": the chain's id, the members' " +
			"names in the order of\n" +
			"their indices, and the parameters of the first epoch. With --data it has the schema of the founder's table. " +
			"The founder sends\n" +
			"the file to the others, and joins as they do.",
		Example: "  spdl consortium new ./ours --chain-id ours-1 --members a,b,c,d\n" +
			"  spdl consortium new ./ours --chain-id ours-1 --members a,b,c,d --epsilon 2 --deadline 72h",
		Args: cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.chainID, "chain-id", "", "id of the chain; an id is for one chain").Required()
	command.Flag(cmd, &o.members, "members", nil, "names of the members, separated by commas, the founder among "+
		"them").Required()
	command.Flag(cmd, &o.deadline, "deadline", "", "until when the members' files should be there: a duration from now, "+
		"as 72h, or a time, as 2026-12-31T12:00:00Z (default: none)")
	command.Flag(cmd, &o.force, "force", false, "propose it even where the members' tables have too few rows for their "+
		"epsilon")
	o.shape.Flags(cmd, "the preset "+preset.Names()[0])
	return cmd
}

func (o *newOptions) run(r *command.Run, args []string) error {
	if err := command.CheckChainID(o.chainID); err != nil {
		return err
	}
	deadline, err := deadlineOf(o.deadline, time.Now())
	if err != nil {
		return command.Usage(err)
	}
	n := len(o.members)
	p, err := o.shape.Shape(n, nil, r.Warn)
	if err != nil {
		return err
	}
	if n > 1 && p.Rule.Byzantine == 0 {
		r.Warn(fmt.Sprintf("f = 0: one faulty member can ruin the model; four members withstand one, and these %d at "+
			"most --byzantine %d", n, params.MaxByzantine(n)))
	}
	if !o.force {
		if err := preset.CheckTable(p, n, 0); err != nil {
			return command.Usage(err)
		}
	}
	for _, doubt := range plan.Doubts(p, n) {
		r.Warn(doubt)
	}
	folder := args[0]
	proposal := founding.Proposal{ChainID: o.chainID, AppVersion: app.Version, Members: o.members, Deadline: deadline,
		Params: p}
	if err := proposal.Check(); err != nil {
		return command.Usage(err)
	}
	if err := founding.Propose(folder, proposal); err != nil {
		return err
	}
	f, err := founding.Open(folder)
	if err != nil {
		return err
	}
	next := fmt.Sprintf("send the file to the others; each member: spdl consortium join %s --name NAME "+
		"--address HOST:PORT", folder)
	made := struct {
		File string `json:"file"`
		agreement
		Next string `json:"next"`
	}{filepath.Join(folder, founding.ProposalFile), agreementOf(f), next}
	return r.Show(made, func(w io.Writer) {
		fmt.Fprintf(w, "file      %s\n", made.File)
		made.text(w)
		fmt.Fprintf(w, "next      %s\n", made.Next)
	})
}

// deadlineOf reads --deadline, nil if it is not given.
func deadlineOf(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	if left, notLeft := time.ParseDuration(text); notLeft == nil {
		at, err = now.Add(left), nil
	}
	if err != nil || !at.After(now) {
		return nil, fmt.Errorf("--deadline is %q, want a duration above 0, as 72h, or a time ahead, as 2026-12-31T12:00:00Z",
			text)
	}
	at = at.UTC().Truncate(time.Second)
	return &at, nil
}
