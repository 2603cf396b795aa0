package watch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/doctor"
)

type debugOptions struct {
	doctorOptions
	out, log string
}

// Debug returns the command that collects, in one file, what another person needs to find a fault.
func Debug() *cobra.Command {
	o := &debugOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "debug",
		Short: "Write a bundle for a helper: state and log, no secrets",
		Long: `Write a bundle for a helper: versions, configuration, what spdl doctor finds, the node's state and peers,
profiles if rpc.pprof_laddr is set, and the end of the log. It has no keys, no journal and no data: each file
is made for the bundle, a text of the configuration is in it only if it is known to be no secret, and private
keys, passwords in addresses, and lines of the trainer program are removed. The names and addresses of peers
are in it. Nothing is sent: look at it first.`,
		Example: "  spdl debug --home ./node --out debug.tar.gz\n" +
			"  spdl debug --home ./node --log node.log",
	}, o.run)
	o.declare(cmd)
	command.Flag(cmd, &o.out, "out", "", "file to write, which must not exist (default: spdl-debug-TIME.tar.gz)")
	command.Flag(cmd, &o.log, "log", "", "file with the node's log (default: the journal of the unit spdl, where there "+
		"is one)")
	return cmd
}

func (o *debugOptions) run(r *command.Run, _ []string) (err error) {
	now := time.Now().UTC()
	o.out = cmp.Or(o.out, now.Format("spdl-debug-20060102T150405Z.tar.gz"))
	if err := r.OneHome(); err != nil {
		return err
	}
	h, err := o.look(r, r.Home)
	if err != nil {
		return err
	}
	var log io.Reader // nil if there is none
	if o.log != "" {
		file, err := os.Open(o.log)
		if err != nil {
			return err
		}
		defer file.Close()
		log = file
	} else if lines := journal(r); lines != "" {
		log = strings.NewReader(lines)
	}
	files := doctor.Collect(r.Context, h, log)
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(files.Write(f, now), f.Close()); err != nil {
		return errors.Join(err, os.Remove(o.out))
	}
	made := struct {
		File  string        `json:"file"`
		Files doctor.Bundle `json:"files"`
	}{o.out, files}
	return r.Show(made, func(w io.Writer) {
		files.List(w)
		fmt.Fprintf(w, "\n%s is written, and nothing is sent. Look at it first: tar -xzOf %s | less\n", o.out, o.out)
	})
}

// journal returns the end of the log of the unit spdl, "" if systemd has none.
func journal(r *command.Run) string {
	lines, _ := exec.CommandContext(r.Context, "journalctl", "--unit", "spdl", "--lines", "5000", "--no-pager",
		"--quiet").Output()
	return string(lines)
}
