package prove

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/audit/dossier"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

type dossierOptions struct {
	Blocks
	out, after, sign string
	sheets           []string
	template         bool
}

// Dossier returns the command.
func Dossier() *cobra.Command {
	o := &dossierOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "dossier [ARCHIVE]",
		Short: "Write a signed dossier: every sentence is proven or declared",
		Long: `Write a signed dossier of the training: a model card, a privacy statement for
each participant, membership and approvals with dates, incidents and offences,
whether the resilience condition held in each round, data sheets of the members,
and what supports the points of the AI Act's Annex IV and of the GDPR's Articles
30 and 35. It is an archive with one page, in HTML and in Markdown, the claims as
JSON, and the dossier. Every sentence names its proof, or is declared.

The chain is replayed as by audit replay: of the stopped node of --home, of an
ARCHIVE, or of a running node by --node. The participant's key of --home signs.
spdl verify dossier checks the file without a node, against the hash of one block.

A release executes the heights of its own version of the state machine. After an
upgrade, let the release of before write a dossier of its heights, and continue it:
--after names that file.

docs/VERIFY.md says what each section is.`,
		Example: "  spdl dossier --template > sheet.toml\n" +
			"  spdl dossier --node tcp://127.0.0.1:26657 --data-sheet sheet.toml --out ours.dossier.zip\n" +
			"  spdl verify dossier ours.dossier.zip --trust-height 10 --trust-hash 5F2B...",
		Args: cobra.MaximumNArgs(1),
	}, o.run)
	o.Flags(cmd)
	command.Flag(cmd, &o.out, "out", "", "file to write; it must not exist (default: CHAIN.dossier.zip)")
	command.Flag(cmd, &o.after, "after", "", "dossier that the release before an upgrade wrote of its heights, to "+
		"continue")
	command.Flag(cmd, &o.sheets, "data-sheet", nil, "data sheet of a member, in TOML; may be repeated")
	command.Flag(cmd, &o.template, "template", false, "print a data sheet to fill in, and nothing else")
	command.Flag(cmd, &o.sign, "sign", "", "print this data sheet with the signature of the participant of --home, and "+
		"nothing else")
	return command.PassphraseFlag(cmd)
}

// made is the result of the command.
type made struct {
	File     string `json:"file"`
	Bytes    int    `json:"bytes"`
	ChainID  string `json:"chain_id"`
	Height   int64  `json:"height"` // of the header that the proofs lead to
	Header   string `json:"header"` // its hash
	Rounds   int    `json:"rounds"`
	Proven   int    `json:"proven"`
	Declared int    `json:"declared"`
}

func (o *dossierOptions) run(r *command.Run, args []string) error {
	if o.sign != "" {
		return o.signSheet(r)
	}
	if o.template {
		return r.Show(map[string]string{"template": dossier.SheetTemplate()}, command.Line(dossier.SheetTemplate()))
	}
	if err := command.CheckOut("out", o.out, "a dossier is a ZIP archive, with its page in it as HTML and Markdown",
		".zip"); err != nil {
		return err
	}
	sheets, err := o.readSheets()
	if err != nil {
		return err
	}
	_, key, err := signer(r)
	if err != nil {
		return err
	}
	build, err := command.Build()
	if err != nil {
		return err
	}
	gathered, found, err := o.gather(r, args)
	if err != nil {
		return err
	}
	program := "spdl " + build
	if earlier := gathered.Declared.Program; earlier != "" {
		program = earlier + ", continued by " + program
	}
	data, page, err := dossier.Write(r.Context, gathered, program, sheets, key)
	if err != nil {
		return err
	}
	chain, err := gathered.Chain()
	if err != nil {
		return err
	}
	m := made{File: cmp.Or(o.out, filepath.Base(chain.Last().ChainID)+".dossier.zip"), Bytes: len(data),
		ChainID: chain.Last().ChainID, Height: chain.Last().Height, Header: fmt.Sprintf("%x", []byte(chain.Last().Hash())),
		Rounds: len(gathered.Records)}
	m.Proven, m.Declared = page.Count()
	if err := command.WriteOut(m.File, data); err != nil {
		return err
	}
	for _, closed := range gathered.Declared.Unproven {
		r.Warn("the dossier lacks a round and what it cost: " + closed)
	}
	if err := r.Show(m, m.text); err != nil {
		return err
	}
	return found.Short()
}

// gather replays the chain of the source. It returns the evidence for the dossier, which continues the
// dossier of --after if there is one, and the report of the replay.
func (o *dossierOptions) gather(r *command.Run, args []string) (gathered *dossier.Evidence, found *audit.Report,
	err error) {
	err = o.With(r, args, func(src audit.Source, how audit.Options) error {
		earlier, err := o.earlier(r.Context, src, how)
		if err != nil {
			return err
		}
		gathered, found, err = dossier.Collect(r.Context, src, how, earlier)
		return err
	})
	return gathered, found, err
}

// signer returns the configuration of the home, and the key of its participant.
func signer(r *command.Run) (*config.Config, ed25519.PrivateKey, error) {
	c, a, err := r.LoadHome()
	if err != nil {
		return nil, nil, fmt.Errorf("--home names the home whose participant signs: %w", err)
	}
	signers, err := home.Participants(r.Context, c, a, r.Keystore())
	if err != nil {
		return nil, nil, err
	}
	if len(signers) == 0 || signers[0].Keys.Signing == nil {
		return nil, nil, fmt.Errorf("%s has no participant key; a participant's signer signs no dossier and no data sheet",
			r.HomeText)
	}
	return c, signers[0].Keys.Signing, nil
}

// signSheet prints a data sheet with a signature.
func (o *dossierOptions) signSheet(r *command.Run) error {
	data, err := os.ReadFile(o.sign)
	if err != nil {
		return err
	}
	c, key, err := signer(r)
	if err != nil {
		return err
	}
	doc, err := home.ReadGenesis(c)
	if err != nil {
		return err
	}
	signed, err := dossier.SignSheet(data, doc.ChainID, key)
	if err != nil {
		return fmt.Errorf("--sign: %s: %w", o.sign, err)
	}
	return r.Show(map[string]string{"sheet": string(signed)}, command.Line(string(signed)))
}

// earlier returns the evidence of the dossier to continue, verified by the genesis of the replay, nil for none.
func (o *dossierOptions) earlier(ctx context.Context, src audit.Source, how audit.Options) (*dossier.Evidence, error) {
	if o.after == "" {
		return nil, nil
	}
	data, err := command.ReadFile(o.after, dossier.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("--after: %w", err)
	}
	_, e, err := dossier.Verify(ctx, data, audit.Founded(cmp.Or(how.Genesis, src.Genesis())))
	if err != nil {
		return nil, fmt.Errorf("--after: %s: %w", o.after, err)
	}
	return e, nil
}

// readSheets reads the data sheets, in the order of their participants.
func (o *dossierOptions) readSheets() ([]dossier.Sheet, error) {
	var all []dossier.Sheet
	for _, path := range o.sheets {
		s, err := dossier.ReadSheetFile(path)
		if err != nil {
			return nil, fmt.Errorf("--data-sheet: %w", err)
		}
		if slices.ContainsFunc(all, func(other dossier.Sheet) bool { return other.Participant == s.Participant }) {
			return nil, command.Usage(fmt.Errorf("--data-sheet: %s is a second one of participant %d", path, s.Participant))
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b dossier.Sheet) int { return cmp.Compare(a.Participant, b.Participant) })
	return all, nil
}

func (m made) text(w io.Writer) {
	fmt.Fprintf(w, "%s: %d bytes, %d rounds, %d sentences proven and %d declared\nspdl verify dossier %s "+
		"--trust-height %d --trust-hash %s\n", m.File, m.Bytes, m.Rounds, m.Proven, m.Declared, m.File, m.Height, m.Header)
}
