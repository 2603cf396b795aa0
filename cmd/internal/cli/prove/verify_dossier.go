package prove

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/cmd/internal/audit/dossier"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

type verifyDossierOptions struct {
	trustOptions // without a node to ask
	genesis      string
}

func verifyDossier() *cobra.Command {
	o := &verifyDossierOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "dossier FILE",
		Short: "Check a dossier of spdl dossier, without a node: every sentence, proof, hash and the signature",
		Long: `Check a dossier that spdl dossier wrote, without a node: the headers follow from
the trusted one, the values and operations are proven for these headers, the page
is what they render to, and the archive is whole and signed. A sentence that was
edited is named.

--trust-height and --trust-hash name any block between the dossier's first and
last; with --genesis the validators of that genesis signed the first.`,
		Example: "  spdl verify dossier ours.dossier.zip --trust-height 10 --trust-hash 5F2B...\n" +
			"  spdl verify dossier ours.dossier.zip --genesis genesis.json -o json",
		Args: cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.trust.Height, "trust-height", 0, "height of a header that you trust")
	command.Flag(cmd, &o.hash, "trust-hash", "", "its hash, 64 hex digits, from somebody whom you trust")
	command.Flag(cmd, &o.genesis, "genesis", "", "genesis.json to trust, in place of a header")
	command.Flag(cmd, &o.chainID, "chain-id", "", "chain that the dossier must be of (default: any)")
	return cmd
}

func (o *verifyDossierOptions) run(r *command.Run, args []string) error {
	root, err := o.root(o.genesis)
	if err != nil {
		return err
	}
	data, err := command.ReadFile(args[0], dossier.MaxBytes)
	if err != nil {
		return err
	}
	v, _, err := dossier.Verify(r.Context, data, root)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return r.Show(v, func(w io.Writer) {
		signer := "of no participant"
		if v.Participant != nil {
			signer = fmt.Sprintf("of participant %d", *v.Participant)
		}
		fmt.Fprintf(w, "verified  %d sentences by proofs; %d are declared, which nobody proves\n"+
			"chain     %s, heights %d to %d, %d rounds\nheader    %d, hash %s\n"+
			"time      %s\ntrusted   from height %d\nsigned    by %s, %s\n",
			v.Proven, v.Declared, command.Plain(v.ChainID), v.First, v.Height, v.Rounds, v.Height, v.Header,
			v.Time.Format(time.RFC3339), v.Trusted, v.Signer, signer)
	})
}
