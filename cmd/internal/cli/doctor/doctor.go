// Package doctor has the commands for a node with a fault: doctor examines the node, and debug
// collects what another person needs to find the fault.
package doctor

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/doctor"
)

// errFound means that a check failed.
var errFound = errors.New("the node cannot run as it should")

type options struct {
	node      string
	witnesses []string
}

func (o *options) declare(cmd *cobra.Command) {
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.witnesses, "witness", nil, "RPC address of another member's node, whose genesis has to be the "+
		"same; may be repeated")
}

// Command returns the command that examines a home.
func Command() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "doctor",
		Short: "Examine a home, its node and the host, with remedies",
		Long: "Examine a home, its node and the host, whether the node runs or not: one line a check, with the remedy. " +
			"Nothing is\n" +
			"changed. If --home holds homes in subfolders, as the folder of a localnet does, each of them is examined. A\n" +
			"check that fails is exit code 1; a warning is not. The checks: " + strings.Join(doctor.Names(), ", ") + ".",
		Example: "  spdl doctor --home ./node\n" +
			"  spdl doctor --home ./node --witness tcp://b.example.org:26657 -o json",
	}, o.run)
	o.declare(cmd)
	return cmd
}

// examined are the findings about one of several homes.
type examined struct {
	Home     string           `json:"home"`
	Findings []doctor.Finding `json:"findings"`
}

// run examines the home, or all homes in its subfolders if it is none.
func (o *options) run(r *command.Run, _ []string) error {
	homes := r.Homes()
	if len(homes) > 1 && o.node != "" {
		return command.Usage(fmt.Errorf("--node is for one home, and %s holds %d: name one of them with --home", r.HomeText,
			len(homes)))
	}
	all := make([]examined, len(homes))
	worst := doctor.OK
	for i, dir := range homes {
		h, err := o.look(r, dir)
		if err != nil {
			return err
		}
		all[i] = examined{dir, doctor.Examine(r.Context, h)}
		if doctor.Worst(all[i].Findings) == doctor.Fail {
			worst = doctor.Fail
		}
	}
	var shown any = all
	if len(all) == 1 {
		shown = all[0].Findings
	}
	if err := r.Show(shown, func(w io.Writer) error { return sections(w, all) }); err != nil {
		return err
	}
	if worst == doctor.Fail {
		return errFound
	}
	return nil
}

// sections prints the findings, of several homes beneath the name of each.
func sections(w io.Writer, all []examined) error {
	for i, one := range all {
		if len(all) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s\n", command.Plain(one.Home))
		}
		if err := text(w, one.Findings); err != nil {
			return err
		}
	}
	return nil
}

// look reads a home and finds its node.
func (o *options) look(r *command.Run, dir string) (*doctor.Home, error) {
	witnesses := map[string]*client.Client{}
	for _, address := range o.witnesses {
		c, err := client.New(address)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--witness: %w", err))
		}
		witnesses[address] = c
	}
	rpc := o.node
	if rpc == "" {
		rpc, _ = home.RPCAddress(dir) // the checks say why there is none
	}
	return doctor.Look(r.Context, dir, rpc, witnesses), nil
}

// text prints the findings.
func text(w io.Writer, findings []doctor.Finding) error {
	for _, f := range findings {
		fmt.Fprintf(w, "%-4s  %-17s  %s\n", f.Level, f.Check, command.Plain(f.Found))
		if f.Remedy != "" {
			fmt.Fprintf(w, "%25s  remedy: %s\n", "", command.Plain(f.Remedy))
		}
	}
	return nil
}
