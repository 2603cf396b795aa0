package prove

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

type verifyLogOptions struct {
	trustOptions
	offline bool
	genesis string
}

func verifyLog() *cobra.Command {
	o := &verifyLogOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "log FILE",
		Short: "Check a log of spdl audit log: from a trusted header to every entry's bytes",
		Long: `Check a log that spdl audit log -o json wrote: every entry and every approval is
on the chain, at its height, and says what the log says.

With --genesis nobody is asked: the file carries the signed headers, and the
validators of that genesis signed the first. With --offline --trust-height and
--trust-hash trust begins at another header of the file. Otherwise the light
client asks --node for the headers.

That no entry is missing, and what became of each, follows from a replay alone:
spdl audit log makes the same log again, and spdl audit replay proves the chain.`,
		Example: `  spdl verify log log.json --genesis genesis.json
  spdl verify log log.json --trust-height 1 --trust-hash 5F2B... --witness tcp://other:26657`,
		Args: cobra.ExactArgs(1),
	}, o.run)
	o.declare(cmd)
	command.Flag(cmd, &o.offline, "offline", false, "ask no node: trust the header in the file that has the "+
		"hash --trust-hash")
	command.Flag(cmd, &o.genesis, "genesis", "", "genesis.json to trust: asks no node")
	return cmd
}

// logVerdict is the result of verify log.
type logVerdict struct {
	Verified  bool   `json:"verified"`
	File      string `json:"file"`
	ChainID   string `json:"chain_id"`
	Trusted   int64  `json:"trusted_height"`
	Proven    any    `json:"proven"`
	NotProven string `json:"not_proven"`
}

// notProven lists what the bytes of a log do not prove.
const notProven = "that no entry is missing, the results, the names and the founders: spdl audit log on an archive " +
	"makes the same log again"

func (o *verifyLogOptions) run(r *command.Run, args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	log, err := audit.ReadLog(file)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	ctx, cancel := context.WithTimeout(r.Context, o.timeout)
	defer cancel()
	headers, t, err := o.headers(ctx, r, log)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if log.ChainID != t.ChainID {
		return fmt.Errorf("%s: %w: it is of chain %q, want %q", args[0], proof.ErrNotProven, log.ChainID, t.ChainID)
	}
	proven, err := log.Check(ctx, headers)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	v := logVerdict{true, args[0], t.ChainID, t.Height, proven, notProven}
	return r.Show(v, func(w io.Writer) {
		fmt.Fprintf(w, "verified    %d entries and %d approvals, by %d headers from height %d to %d\n"+
			"chain       %s\ntrusted     from height %d\nnot proven  %s\n", proven.Entries, proven.Approvals, proven.Headers,
			proven.First, proven.Last, command.Plain(v.ChainID), v.Trusted, v.NotProven)
	})
}

// headers returns the trusted headers of the options: from the node, or those of the file.
func (o *verifyLogOptions) headers(ctx context.Context, r *command.Run, log *audit.Log) (light.Headers, light.Trust,
	error) {
	root, err := o.root(o.genesis)
	if err != nil {
		return nil, light.Trust{}, err
	}
	if o.offline || o.genesis != "" {
		return log.Trusted(root)
	}
	t, err := root(log.ChainID, nil)
	if err != nil {
		return nil, t, err
	}
	_, headers, t, err := o.follow(ctx, r, t)
	return headers, t, err
}
