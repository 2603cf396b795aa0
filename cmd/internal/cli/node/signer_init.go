package node

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker/signer"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// initCommand returns the command that makes a signer's home.
func initCommand() *cobra.Command {
	o := &signerInitOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "init FOLDER",
		Short: "Move the participant's keys and journal from the node's home to that of a signer",
		Long: `Move the participant's keys and journal from the home of a node, which is stopped, to the new home FOLDER of a
signer, and set worker.signer of the node. Over TCP both homes get a certificate of the other; copy FOLDER to
the signer's host then, and remove it here. Encrypted keys stay encrypted. Run again after it was cut off, it
goes on.`,
		Example: "  spdl signer init ./vault --home ./node --listen unix:///run/spdl/signer.sock\n" +
			"  spdl signer init ./vault --home ./node --listen tcp://0.0.0.0:26661 --address tcp://10.0.0.6:26661 --allow " +
			"approve,consent",
		Args: cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.listen, "listen", "", "where the signer listens: unix:///path or tcp://host:port").Required()
	command.Flag(cmd, &o.address, "address", "", "where the node finds it (default: --listen)")
	command.Flag(cmd, &o.allow, "allow", "", "what it signs beside gradients and aggregates, separated by commas: "+
		strings.Join(signer.Kinds(), ", ")+" (default: nothing)")
	command.Flag(cmd, &o.users, "users", "", "users of this host that may connect to a Unix socket beside the signer's "+
		"own, separated by commas")
	return command.PassphraseFlag(cmd)
}

type signerInitOptions struct{ listen, address, allow, users string }

// report is what the command did.
type report struct {
	Signer  string   `json:"signer"` // its home
	Address string   `json:"address"`
	Allow   []string `json:"allow"`
}

func (o *signerInitOptions) run(r *command.Run, args []string) error {
	address := cmp.Or(o.address, o.listen)
	if err := cmp.Or(signer.CheckAddress(o.listen), signer.CheckAddress(address)); err != nil {
		return command.Usage(err)
	}
	if _, at, _ := strings.Cut(address, "://"); signer.NeedsCertificates(address) {
		if host, _, err := net.SplitHostPort(at); err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
			return command.Usage(fmt.Errorf("--listen %s is every address of the signer's host: name the one that the node "+
				"dials, by --address", o.listen))
		}
	}
	to, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	c, a, err := r.LoadHome()
	if err != nil {
		return err
	}
	settings := home.DefaultAppConfig().Signer
	settings.Listen = o.listen
	settings.Allow = append([]string{}, admission.SplitList(o.allow)...) // never null in JSON
	settings.Users = append([]string{}, admission.SplitList(o.users)...)
	if err := settings.Validate(); err != nil {
		return command.Usage(err)
	}
	err = home.MoveToSigner(c, a, r.Keystore(), home.SignerMove{Dir: to, Signer: settings, Address: address})
	if err != nil {
		return err
	}
	return r.Show(report{to, address, settings.Allow}, func(w io.Writer) {
		fmt.Fprintf(w, "The participant's keys and journal are in %s, and %s has none.\n"+
			"1. spdl signer --home %s\n2. spdl start --home %s\n", to, r.HomeText, to, r.HomeText)
	})
}
