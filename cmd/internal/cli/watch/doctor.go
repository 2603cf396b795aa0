package watch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/doctor"
)

// errFound means that a check failed.
var errFound = errors.New("the node cannot run as it should")

type doctorOptions struct {
	node      string
	witnesses []string
}

func (o *doctorOptions) declare(cmd *cobra.Command) {
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.witnesses, "witness", nil, "RPC address of another member's node, whose genesis has to be the "+
		"same; may be repeated")
}

// Doctor returns the command that examines a home.
func Doctor() *cobra.Command {
	o := &doctorOptions{}
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

// run examines the home, or all homes in its subfolders if it is none.
func (o *doctorOptions) run(r *command.Run, _ []string) error {
	homes := r.Homes()
	if len(homes) > 1 && o.node != "" {
		return command.Usage(fmt.Errorf("--node is for one home, and %s holds %d: name one of them with --home", r.HomeText,
			len(homes)))
	}
	all, errs := make([]doctor.Examined, len(homes)), make([]error, len(homes))
	var wg sync.WaitGroup
	for i, dir := range homes {
		wg.Go(func() {
			h, err := o.look(r, dir)
			if errs[i] = err; err == nil {
				all[i] = doctor.Examined{Dir: dir, Findings: doctor.Examine(r.Context, h), Home: h}
			}
		})
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	if len(all) > 1 {
		all = append(all, doctor.Examined{Dir: r.Home, Findings: []doctor.Finding{doctor.Net(r.Context, all)}})
	}
	var shown any = all
	if len(all) == 1 {
		shown = all[0].Findings
	}
	if err := r.Show(shown, func(w io.Writer) { sections(w, all) }); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(e doctor.Examined) bool { return doctor.Failed(e.Findings) }) {
		return errFound
	}
	return nil
}

// sections prints the findings, of several homes beneath the name of each.
func sections(w io.Writer, all []doctor.Examined) {
	for i, one := range all {
		if len(all) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, command.Plain(one.Dir))
		}
		text(w, one.Findings)
	}
}

// look reads a home and finds its node.
func (o *doctorOptions) look(r *command.Run, dir string) (*doctor.Home, error) {
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
func text(w io.Writer, findings []doctor.Finding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%-4s  %-17s  %s\n", f.Level, f.Check, command.Plain(f.Found))
		if f.Remedy != "" {
			fmt.Fprintf(w, "%25s  remedy: %s\n", "", command.Plain(f.Remedy))
		}
	}
}
