package consortium

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/node"
	"github.com/spdl/spdl/cmd/internal/founding"
)

type joinOptions struct {
	name, address, laddr, data string
	workerOnly, encrypt        bool
	nodes                      *string
	dialOnly                   bool
	relays                     string
	again                      bool
}

func joinCommand() *cobra.Command {
	o := &joinOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "join FOLDER",
		Short: "Make a member's home and its entry for the proposal in FOLDER",
		Long: `Make a member's home, with new keys, and its entry for the proposal in FOLDER, which the member sends to the
others. The entry has public keys, proofs of their possession, and the node's id and address: nothing secret.
By sending it the member agrees to the parameters, which are printed. A second run corrects the entry, as its
address, until a share is out; it keeps the home and its keys. A home that belongs to another founding, whose
chain has not begun in it, joins with --again. A run that fails leaves the home as it was.`,
		Example: "  spdl consortium join ./ours --name b --home ./node --address b.example.org:26656 --data ./b.csv",
		Args:    cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.name, "name", "", "the member's name, one of the proposal's")
	command.Flag(cmd, &o.address, "address", "", "host:port at which the others reach the node, as a.example.org:26656")
	command.Flag(cmd, &o.laddr, "p2p-laddr", "", "address at which the node listens (default: all interfaces at the port "+
		"of --address, or --address itself on the loopback)")
	command.Flag(cmd, &o.data, "data", "", "IDX files in a folder, CSV or Parquet, to train on, or \"embedded\" for the "+
		"embedded MNIST (default: worker.data of app.toml is set later)")
	command.Flag(cmd, &o.workerOnly, "worker-only", false, "be a participant without a validator, which trains by way of "+
		"another member's node")
	command.EncryptFlag(cmd, &o.encrypt)
	command.Optional(cmd, &o.nodes, "nodes", "ids of the nodes that the others are to let in, separated by commas "+
		"(default: that of the home; none with --worker-only)")
	command.Flag(cmd, &o.dialOnly, "dial-only", false, "listen nowhere: the node dials the relays, and members that "+
		"listen, and accepts nobody")
	command.Flag(cmd, &o.relays, "relays", "", "relays that all members are to dial, as id@host:port, separated by "+
		"commas; spdl init --relay prints one")
	command.Flag(cmd, &o.again, "again", false, "leave the founding that the home has joined, with the same keys: its "+
		"entry, share, proof and genesis.json are removed from the home")
	return cmd
}

// check rejects options that do not fit the proposal.
func (o *joinOptions) check(f *founding.Founding) error {
	if !slices.Contains(f.Proposal.Members, o.name) {
		return command.Usage(fmt.Errorf("--name is %q, want one of the proposal's members: %s", o.name,
			strings.Join(f.Proposal.Members, ", ")))
	}
	if _, err := founding.Relays(o.relays); err != nil {
		return command.Usage(fmt.Errorf("--relays: %w", err))
	}
	if o.dialOnly && o.address+o.laddr != "" {
		return command.Usage(errors.New("--dial-only and --address or --p2p-laddr: a node that dials alone has neither"))
	}
	if o.address == "" && (o.workerOnly || o.dialOnly) {
		return nil
	}
	host, port, err := net.SplitHostPort(o.address)
	if number, invalid := strconv.ParseUint(port, 10, 16); err != nil || invalid != nil || number == 0 || host == "" ||
		strings.Contains(host, "@") {
		return command.Usage(fmt.Errorf("--address is %q, want host:port, as a.example.org:26656", o.address))
	}
	if err := founding.CheckAddress(o.address); err != nil {
		return command.Usage(fmt.Errorf("--address: %w", err))
	}
	return nil
}

// listen returns the address at which the node is to listen.
func (o *joinOptions) listen() string {
	switch {
	case o.dialOnly:
		return ""
	case o.laddr != "":
		return o.laddr
	case o.address == "":
		return "tcp://127.0.0.1:26656"
	}
	return home.ListenAt(o.address)
}

func (o *joinOptions) run(r *command.Run, args []string) error {
	f, err := founding.Open(args[0])
	if err != nil {
		return err
	}
	if err := o.check(f); err != nil {
		return err
	}
	if _, err := home.NewConfig(o.name, o.listen(), o.address); err != nil {
		return command.Usage(err)
	}
	if o.data != "" && o.data != home.EmbeddedData {
		if o.data, err = filepath.Abs(o.data); err != nil {
			return err
		}
	}
	if passed(f.Proposal.Deadline) {
		r.Warn("the deadline of the proposal has passed: ask the founder whether the members still found by it")
	}
	train, test, err := fit(r, o.data, f.Proposal.Params)
	if err != nil {
		return err
	}
	made, err := o.makeHome(r, f)
	if err != nil {
		return err
	}
	e, err := o.enter(r, f)
	if err == nil && !made {
		err = o.correct(r)
	}
	if err != nil {
		return err
	}
	next := fmt.Sprintf("send the entry to the others; when all entries are in the folder: spdl consortium start %s "+
		"--home %s", f.Folder, r.HomeText)
	joined := struct {
		Home  string `json:"home"`
		Entry string `json:"entry"`
		Node  string `json:"node,omitempty"`
		Train int    `json:"train_examples,omitempty"` // of --data
		Test  int    `json:"test_examples,omitempty"`
		agreement
		Next string `json:"next"`
	}{r.HomeText, f.Path(o.name, founding.KindEntry), e.Address, train, test, agreementOf(f), next}
	return r.Show(joined, func(w io.Writer) {
		fmt.Fprintf(w, "home      %s\nentry     %s\nnode      %s\n", joined.Home, joined.Entry, joined.Node)
		if joined.Train > 0 {
			fmt.Fprintf(w, "data      %d examples to train and %d to test, of %s\n", joined.Train, joined.Test, o.data)
		}
		joined.text(w)
		fmt.Fprintf(w, "next      %s\n", joined.Next)
	})
}

// fit returns the numbers of examples that a home reads itself, 0 for a trainer's. It rejects data that are not what
// the proposal's model takes, or lack the groups of its unit, and warns of columns that it cannot use.
func fit(r *command.Run, data string, p params.Params) (train, test int, err error) {
	if data == "" || p.Model.Kind == params.ModelExternal {
		return 0, 0, nil
	}
	d, err := home.LoadData(data, p.Model)
	if err == nil {
		err = home.CheckGroups(data, d.Train, p)
	}
	var of table.Fit
	if err == nil && p.Model.Table != nil {
		of, err = table.FitOf(data, *p.Model.Table)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("--data: %w", err)
	}
	for _, x := range of.Faults {
		r.Warn(fmt.Sprintf("--data %s: %s", data, x))
	}
	return d.Train.Len(), d.Test.Len(), nil
}

// makeHome makes the home, and returns false if join has made it before. A new home has made no entry,
// so one under its name is somebody else's.
func (o *joinOptions) makeHome(r *command.Run, f *founding.Founding) (made bool, err error) {
	copies := founding.CopiesIn(r.Home)
	if _, err = os.Stat(copies); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	entry := f.Path(o.name, founding.KindEntry)
	if _, err := os.Lstat(entry); err == nil {
		return false, fmt.Errorf("%s is there already, and the home %s is not the one that made it: name that one by "+
			"--home, or ask who took the name %s", entry, r.HomeText, o.name)
	}
	c, err := home.NewConfig(o.name, o.listen(), o.address)
	if err != nil {
		return false, command.Usage(err)
	}
	a := home.DefaultAppConfig()
	a.Worker.Data = o.data
	if _, err = r.InitHome(c, a, o.encrypt); err != nil {
		return false, err
	}
	return true, os.MkdirAll(copies, 0o700)
}

// former checks whether a home that has joined another founding can leave it: its chain must not have begun
// there. It returns the function that removes the genesis of that chain, nil if the home has joined none.
func (o *joinOptions) former(r *command.Run, f *founding.Founding, m founding.Member) (leave func() error, err error) {
	_, elsewhere := m.Joined(f)
	if !errors.Is(elsewhere, founding.ErrElsewhere) {
		return nil, nil
	}
	c, a, err := r.LoadHome()
	if err != nil {
		return nil, err
	}
	begun, err := home.StoredProgressIn(c, a)
	switch {
	case err != nil:
		return nil, err
	case begun != "":
		return nil, fmt.Errorf("%s has joined an earlier founding, and %s: name a home of its own for each chain", r.HomeText,
			begun)
	case !o.again:
		return nil, fmt.Errorf("%w; name another home by --home, or --again to leave the other founding with the same keys: "+
			"that removes the home's share, proof and genesis.json", elsewhere)
	}
	return func() error {
		err := os.Remove(c.GenesisFile())
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			r.Warn(fmt.Sprintf("%s of an earlier founding, whose chain has not begun here, is removed", c.GenesisFile()))
		}
		return err
	}, nil
}

// correct gives a home that join made before the name, the addresses and the data of this run. Addresses
// change only with --address or --dial-only, data only with --data.
func (o *joinOptions) correct(r *command.Run) error {
	before, _, err := r.LoadHome()
	if err != nil {
		return err
	}
	values := []string{"moniker", o.name}
	if o.data != "" {
		values = append(values, "worker.data", o.data)
	}
	if o.address != before.P2P.ExternalAddress || o.laddr != "" {
		c, err := home.NewConfig(o.name, o.listen(), o.address)
		if err != nil {
			return command.Usage(err)
		}
		values = append(values, "p2p.laddr", c.P2P.ListenAddress, "p2p.external_address", c.P2P.ExternalAddress,
			"p2p.pex", strconv.FormatBool(c.P2P.PexReactor),
			"p2p.addr_book_strict", strconv.FormatBool(c.P2P.AddrBookStrict),
			"p2p.allow_duplicate_ip", strconv.FormatBool(c.P2P.AllowDuplicateIP))
	}
	_, err = home.Set(r.Home, values...)
	return err
}

// enter makes the entry of the home.
func (o *joinOptions) enter(r *command.Run, f *founding.Founding) (*founding.Entry, error) {
	c, a, err := r.LoadHome()
	if err != nil {
		return nil, err
	}
	m := founding.Member{Copies: founding.CopiesIn(r.Home)}
	leave, err := o.former(r, f, m)
	if err != nil {
		return nil, err
	}
	identity := node.IdentityOptions{Moniker: &o.name, Address: &o.address, WorkerOnly: o.workerOnly, Nodes: o.nodes}
	var who app.Identity
	if who, m.Keys, err = identity.Identity(r, ""); err != nil {
		return nil, err
	}
	var consensus ed25519.PrivateKey
	if !o.workerOnly {
		if consensus, err = r.Keystore().LoadValidatorKey(c.PrivValidatorKeyFile()); err != nil {
			return nil, err
		}
	}
	if o.data == "" && a.Worker.Data == "" && len(a.Worker.Trainer) == 0 {
		r.Warn(fmt.Sprintf("the home names no data: spdl config set worker.data PATH --home %s (or worker.trainer)",
			r.HomeText))
	}
	relays, err := founding.Relays(o.relays)
	if err != nil {
		return nil, err
	}
	return m.Enter(f, who, relays, consensus, leave)
}
