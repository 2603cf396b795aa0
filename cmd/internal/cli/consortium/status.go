package consortium

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/founding"
	"github.com/spdl/spdl/cmd/internal/probe"
)

// standing is what status knows of a member.
type standing struct {
	Name    string   `json:"name"`
	Address string   `json:"address,omitempty"`
	Missing []string `json:"missing"` // kinds of files
	Faults  []string `json:"faults"`
	Answers *bool    `json:"answers"` // null: no address is known, or --offline
	Why     string   `json:"why,omitempty"`
	ClockMs *float64 `json:"clock_ms"` // the member's clock minus this host's; null: not measured
}

// report is the result of status.
type report struct {
	agreement
	Standings []standing `json:"standings"`
	Waiting   string     `json:"waiting"` // for the files of the next step; "" if all are there
}

type statusOptions struct {
	node    string
	offline bool
}

func statusCommand() *cobra.Command {
	o := &statusOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "status FOLDER",
		Short: "Show what is missing of whom, which files do not hold, and whose node answers",
		Long: `Show what is missing of whom, which files do not hold, and whose node answers at the address of its entry.
Each address is looked up, connected to, and asked for the proof of its node id. The offsets of the clocks are
those that the home's own node has measured, where it runs and is connected. A file that does not hold is exit
code 1; one that is missing, or a node that does not answer, is not.`,
		Example: "  spdl consortium status ./ours --home ./node\n" +
			"  spdl consortium status ./ours --offline",
		Args: cobra.ExactArgs(1),
	}, o.run)
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.offline, "offline", false, "look at the files alone")
	return cmd
}

func (o *statusOptions) run(r *command.Run, args []string) error {
	f, err := founding.Open(args[0])
	if err != nil {
		return err
	}
	answer := report{agreement: agreementOf(f), Standings: standings(f)}
	if kind := kindOf(f); kind != "" {
		answer.Waiting = waiting(f, kind)
	}
	if !o.offline {
		ahead := clocks(r, o.node)
		addresses := make([]string, len(answer.Standings))
		for i, s := range answer.Standings {
			addresses[i] = s.Address
		}
		for i, failed := range probe.Nodes(r.Context, addresses) {
			answer.Standings[i].reached(failed, ahead)
		}
	}
	return errors.Join(r.Show(answer, answer.text), faultsError(f))
}

// faultsError returns an error with the members' files that do not hold, nil if all hold.
func faultsError(f *founding.Founding) error {
	if len(f.Faults) == 0 {
		return nil
	}
	var files []string
	for _, fault := range f.Faults {
		files = append(files, fmt.Sprintf("%s of %s", fault.File, fault.Member))
	}
	return fmt.Errorf("files that do not hold: %s", strings.Join(files, ", "))
}

// standings returns what the files say.
func standings(f *founding.Founding) []standing {
	all := make([]standing, len(f.Proposal.Members))
	of := map[string]*standing{}
	for i, name := range f.Proposal.Members {
		all[i] = standing{Name: name, Missing: []string{}, Faults: []string{}}
		of[name] = &all[i]
		if e := f.Entries[i]; e != nil {
			all[i].Address = e.Address
		}
	}
	for _, kind := range founding.Kinds {
		for _, name := range f.Missing(kind) {
			of[name].Missing = append(of[name].Missing, string(kind))
		}
	}
	for _, fault := range f.Faults {
		of[fault.Member].Faults = append(of[fault.Member].Faults, fault.File+": "+fault.Error)
	}
	return all
}

// clocks returns the offsets in milliseconds of the peers' clocks that the home's own node has measured, by node id.
// There are none where no node of the home answers.
func clocks(r *command.Run, node string) map[string]float64 {
	c, err := r.Client(node)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context, command.QueryTimeout)
	defer cancel()
	measured, _ := c.Clocks(ctx)
	ahead := map[string]float64{}
	for _, m := range measured {
		ahead[m.NodeID] = m.AheadMs
	}
	return ahead
}

// reached notes the result of a probe, and the offset of the node's clock.
func (s *standing) reached(failed error, ahead map[string]float64) {
	if s.Address == "" {
		return
	}
	answers := failed == nil
	s.Answers = &answers
	if !answers {
		s.Why = failed.Error()
	}
	id, _, _ := strings.Cut(s.Address, "@")
	if ms, known := ahead[id]; known {
		s.ClockMs = &ms
	}
}

func (a report) text(w io.Writer) {
	a.agreement.text(w)
	if a.Waiting != "" {
		fmt.Fprintf(w, "waiting   %s\n", a.Waiting)
	}
	for _, s := range a.Standings {
		fmt.Fprintf(w, "%s\n", s.line())
		for _, fault := range s.Faults {
			fmt.Fprintf(w, "  %s\n", command.Plain(fault))
		}
	}
}

// line is a member's line: files, and then the node.
func (s standing) line() string {
	files := "all files are there"
	if len(s.Missing) > 0 {
		files = strings.Join(s.Missing, ", ") + " missing"
	}
	line := fmt.Sprintf("%s: %s", s.Name, files)
	if s.Answers == nil {
		return line
	}
	_, at, _ := strings.Cut(s.Address, "@")
	line += "; " + at + " "
	switch {
	case !*s.Answers:
		return line + s.Why
	case s.ClockMs != nil:
		return line + fmt.Sprintf("answers; its clock is %.0f ms off", *s.ClockMs)
	}
	return line + "answers"
}
