package consortium

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/founding"
)

// progress is the result of a step.
type progress struct {
	Wrote   []string `json:"wrote"`   // to be sent to the others
	Waiting string   `json:"waiting"` // "" once the genesis is made
	Genesis string   `json:"genesis,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`
	Peers   []string `json:"peers,omitempty"`
	Relays  []string `json:"relays,omitempty"` // written into app.toml
	Next    string   `json:"next"`
}

func startCommand() *cobra.Command {
	return command.PassphraseFlag(command.New(&cobra.Command{
		Use:   "start FOLDER",
		Short: "Take the member's next steps: its share of the seed, its proof, the genesis",
		Long: `Take the steps that the files in FOLDER allow, and say which file to send and what is missing of whom. Run it
again when the others' files have come:
  with all entries  it writes the member's share of the seed, which its entry has committed to
  with all shares   it writes the member's proof over the seed, a hash of all shares
  with all proofs   it writes config/genesis.json and prints its hash, which all members compare by telephone
Files that do not hold are named, with the member. A member that has sent its share cannot change its entry.`,
		Example: "  spdl consortium start ./ours --home ./node",
		Args:    cobra.ExactArgs(1),
	}, command.AtHome(runStart)))
}

func runStart(r *command.Run, c *config.Config, a home.AppConfig, args []string) error {
	own, err := r.Keystore().LoadKeys(home.InHome(c, a.Worker.KeyFile))
	if err != nil {
		return err
	}
	m := founding.Member{Copies: founding.CopiesIn(r.Home), Keys: own}
	p, f, err := advance(r, m, args[0])
	if err != nil {
		return err
	}
	switch {
	case p.Waiting == "":
		if c.P2P.ListenAddress == "" && len(f.Relays()) == 0 {
			r.Warn("this node listens nowhere, and no entry names a relay: it reaches members that listen, and no other")
		}
		if err := p.install(r, c, a, f); err != nil {
			return err
		}
	case len(p.Wrote) == 0:
		return errors.New(p.Waiting)
	default:
		p.Next = fmt.Sprintf("when all %s are in the folder: spdl consortium start %s --home %s", plural[kindOf(f)], f.Folder,
			r.HomeText)
	}
	if len(p.Wrote) > 0 {
		var names []string
		for _, path := range p.Wrote {
			names = append(names, filepath.Base(path))
		}
		p.Next = fmt.Sprintf("send %s to the others; %s", strings.Join(names, " and "), p.Next)
	}
	return r.Show(p, p.text)
}

// kindOf returns the first kind of which files are missing.
func kindOf(f *founding.Founding) founding.Kind {
	for _, kind := range founding.Kinds {
		if len(f.Missing(kind)) > 0 {
			return kind
		}
	}
	return ""
}

// advance writes each file of the member whose turn has come.
func advance(r *command.Run, m founding.Member, folder string) (p progress, f *founding.Founding, err error) {
	p.Wrote = []string{}
	for _, step := range []struct {
		kind founding.Kind // all files of this kind allow
		next founding.Kind // the file of that kind, made by
		make func(f *founding.Founding, name string) error
	}{
		{founding.KindEntry, founding.KindShare, m.Share},
		{founding.KindShare, founding.KindProof, m.Prove},
		{founding.KindProof, "", nil},
	} {
		if f, err = founding.Open(folder); err != nil {
			return p, f, err
		}
		e, err := m.Own(f)
		if err != nil {
			return p, f, err
		}
		if err := faultsOf(f); err != nil {
			return p, f, err
		}
		if p.Waiting = waiting(f, step.kind); p.Waiting != "" || step.make == nil {
			return p, f, nil
		}
		if step.kind == founding.KindEntry {
			warnings, err := f.Check()
			if err != nil {
				return p, f, err
			}
			for _, w := range warnings {
				r.Warn(w)
			}
		}
		before := f.Missing(step.next)
		if err := step.make(f, e.Name); err != nil {
			return p, f, err
		}
		if slices.Contains(before, e.Name) {
			p.Wrote = append(p.Wrote, f.Path(e.Name, step.next))
		}
	}
	return p, f, nil
}

// install writes the genesis into the home, in place of one whose chain has not begun there.
func (p *progress) install(r *command.Run, c *config.Config, a home.AppConfig, f *founding.Founding) error {
	file, dir := c.GenesisFile(), c.RootDir
	genesis, err := f.Genesis()
	if err != nil {
		return err
	}
	if err := founding.Install(file, genesis, func() (string, error) { return home.StoredProgressIn(c, a) }); err != nil {
		return err
	}
	p.Genesis = filepath.Join(r.HomeText, "config", filepath.Base(file))
	p.SHA256 = fmt.Sprintf("%x", sha256.Sum256(genesis))
	for _, e := range f.Entries {
		if e.Address != "" {
			p.Peers = append(p.Peers, e.Address)
		}
	}
	if p.Relays = f.Relays(); len(p.Relays) > 0 {
		if _, err := home.Set(dir, "p2p.relays", strings.Join(p.Relays, ",")); err != nil {
			return err
		}
	}
	p.Next = fmt.Sprintf("compare the hash with the other members by telephone; if all have it: spdl start --home %s",
		r.HomeText)
	return nil
}

func (p progress) text(w io.Writer) {
	for _, file := range p.Wrote {
		fmt.Fprintf(w, "wrote    %s\n", file)
	}
	if p.Waiting != "" {
		fmt.Fprintf(w, "waiting  %s\n", p.Waiting)
	}
	if p.Genesis != "" {
		fmt.Fprintf(w, "genesis  %s\nsha256   %s\npeers    %s\n", p.Genesis, p.SHA256, strings.Join(p.Peers, "\n         "))
	}
	if len(p.Relays) > 0 {
		fmt.Fprintf(w, "relays   %s\n", strings.Join(p.Relays, "\n         "))
	}
	fmt.Fprintf(w, "next     %s\n", p.Next)
}
