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
		Short: "Examine a home, its node and the host: one line a check, with the remedy",
		Long: "Examine a home, its node and the host, whether the node runs or not: one line a check, with the remedy. " +
			"Nothing is\n" +
			"changed. A check that fails is exit code 1; a warning is not. The checks: " +
			strings.Join(doctor.Names(), ", ") + ".",
	}, func(r *command.Run, _ []string) error {
		h, err := o.look(r)
		if err != nil {
			return err
		}
		findings := doctor.Examine(r.Context, h)
		if err := r.Show(findings, func(w io.Writer) error { return text(w, findings) }); err != nil {
			return err
		}
		if doctor.Worst(findings) == doctor.Fail {
			return errFound
		}
		return nil
	})
	o.declare(cmd)
	return cmd
}

// look reads the home and finds its node.
func (o *options) look(r *command.Run) (*doctor.Home, error) {
	witnesses := map[string]*client.Client{}
	for _, address := range o.witnesses {
		c, err := client.New(address)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--witness: %w", err))
		}
		witnesses[address] = c
	}
	rpc, err := r.Address(o.node)
	if err != nil {
		rpc = "" // the checks say why
	}
	h := doctor.Look(r.Context, r.Home, rpc, witnesses)
	if h.Invalid != nil {
		h.Invalid = errors.New(command.TextOf(h.Invalid))
	}
	return h, nil
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
