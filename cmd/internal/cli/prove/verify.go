package prove

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cometbft/cometbft/light/provider"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/watch"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// Verify returns the group of commands.
func Verify() *cobra.Command {
	return command.Group("verify", "Check a file or an answer, from a header that you trust",
		verifyModel(), verifyRound(), verifyParticipant(), verifyLog(), verifyDossier())
}

// trustOptions are the trusted header, and the node and witnesses to ask.
type trustOptions struct {
	node, hash, chainID string
	witnesses           []string
	timeout             time.Duration
	trust               light.Trust
}

func (o *trustOptions) declare(cmd *cobra.Command) {
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.trust.Height, "trust-height", 0, "height of a header that you trust")
	command.Flag(cmd, &o.hash, "trust-hash", "", "its hash, 64 hex digits, from somebody whom you trust: not from --node")
	command.Flag(cmd, &o.trust.Period, "trust-period", 7*24*time.Hour, "how old the trusted header may be").Positive()
	command.Flag(cmd, &o.witnesses, "witness", nil, "RPC address of another node, which would contradict a forked "+
		"--node; may be repeated")
	command.Flag(cmd, &o.timeout, "timeout", time.Minute, "time for all questions").Positive()
	command.Flag(cmd, &o.chainID, "chain-id", "", "chain that the node, or the model, must be of (default: the node's)")
}

// check returns the trusted header in the options. The caller adds the chain's id.
func (o *trustOptions) check(offline bool) (t light.Trust, err error) {
	t = o.trust
	t.Hash, err = hex.DecodeString(o.hash)
	switch {
	case o.hash == "":
		return t, command.Usage(errors.New("--trust-hash is missing: the hash, 64 hex digits, of a header that you trust, " +
			"as `spdl status` of another member's node prints it"))
	case err != nil || len(t.Hash) != 32:
		return t, command.Usage(fmt.Errorf("--trust-hash is %q, want 64 hex digits: the hash of a header that you trust",
			o.hash))
	case t.Height < 0 || t.Height == 0 && !offline:
		return t, command.Usage(fmt.Errorf("--trust-height is %d, want the height of that header", t.Height))
	}
	return t, nil
}

// root returns what a file is verified from: the validators of a genesis if one is named, else the trusted header.
func (o *trustOptions) root(genesisFile string) (audit.Root, error) {
	if genesisFile == "" {
		t, err := o.check(false)
		t.ChainID = o.chainID
		return audit.Pinned(t), err
	}
	if o.hash != "" {
		return nil, command.Usage(errors.New("--genesis and --trust-hash: one of them"))
	}
	doc, err := genesis.ReadFile(genesisFile)
	if err == nil && o.chainID != "" && o.chainID != doc.ChainID {
		err = command.Usage(fmt.Errorf("--chain-id is %q, the genesis is of %q", o.chainID, doc.ChainID))
	}
	return audit.Founded(doc), err
}

// follow starts a light client of --node for the chain t.ChainID, the node's own chain if it is "".
func (o *trustOptions) follow(ctx context.Context, r *command.Run, t light.Trust) (*client.Client, light.Headers,
	light.Trust, error) {
	c, err := r.Client(o.node)
	if err != nil {
		return nil, nil, t, err
	}
	var others []*client.Client
	for _, address := range o.witnesses {
		w, err := client.New(address)
		if err != nil {
			return nil, nil, t, command.Usage(fmt.Errorf("--witness: %w", err))
		}
		others = append(others, w)
	}
	s, err := c.RPC().Status(ctx)
	if err != nil {
		return nil, nil, t, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	t.ChainID = cmp.Or(t.ChainID, s.NodeInfo.Network)
	if s.NodeInfo.Network != t.ChainID {
		return nil, nil, t, fmt.Errorf("%w: it is of chain %q, the node is on chain %q", proof.ErrNotProven, t.ChainID,
			s.NodeInfo.Network)
	}
	var witnesses []provider.Provider
	for _, w := range others {
		witnesses = append(witnesses, w.Provider(t.ChainID))
	}
	if len(witnesses) == 0 {
		fmt.Fprintln(r.Err, "warning: no --witness (the RPC address of another member's node): nobody would "+
			"contradict a fork that more than a third of the validators signed")
	}
	h, err := light.Light(ctx, t, c.Provider(t.ChainID), witnesses)
	return c, h, t, err
}

func verifyModel() *cobra.Command {
	o := &trustOptions{}
	var offline bool
	cmd := command.New(&cobra.Command{
		Use:   "model FILE",
		Short: "Check an exported model: from a trusted header to the file's last byte",
		Long: `Check an exported model: from a trusted header to the file's last byte.

The light client goes from the header of --trust-height and --trust-hash to the
header that the file's proof leads to. It asks --node, and with --witness another
member's node too, which would contradict a fork. With --offline nobody is asked:
the file carries that header, and --trust-hash is its hash.`,
		Example: `  spdl verify model m.safetensors --trust-height 1 --trust-hash 5F2B... --witness tcp://other:26657
  spdl verify model m.npz --offline --trust-hash 5F2B...`,
		Args: cobra.ExactArgs(1),
	}, func(r *command.Run, args []string) error {
		t, err := o.check(offline)
		if err != nil {
			return err
		}
		data, err := command.ReadFile(args[0], modelfile.MaxBytes)
		if err != nil {
			return err
		}
		f, err := modelfile.Open(args[0], data, o.chainID)
		if err != nil {
			return err
		}
		v, err := o.verdict(r, f, t, offline)
		if err != nil {
			return err
		}
		return r.Show(v, v.Text)
	})
	o.declare(cmd)
	command.Flag(cmd, &offline, "offline", false,
		"ask no node: trust the header in the file if it has the hash --trust-hash")
	return cmd
}

// verdict verifies a file against its own header, or against a header that follows from the trusted header.
func (o *trustOptions) verdict(r *command.Run, f *modelfile.Checked, t light.Trust, offline bool) (modelfile.Verdict,
	error) {
	if offline {
		return f.Offline(t)
	}
	ctx, cancel := context.WithTimeout(r.Context, o.timeout)
	defer cancel()
	t.ChainID = f.Card.ChainID
	_, headers, t, err := o.follow(ctx, r, t)
	if err != nil {
		return modelfile.Verdict{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	return f.Against(ctx, headers, t)
}

// verifyAnswer returns a command that queries a node with proof and checks the answer. A node may answer from an old
// state, so the age of the answer has a limit. maxAge is the default limit; 0 means none.
func verifyAnswer(use, short, example string, maxAge time.Duration, args cobra.PositionalArgs, path watch.Path,
	read func([]byte) (any, func(io.Writer), error)) *cobra.Command {
	o := &trustOptions{}
	var age time.Duration
	cmd := command.New(&cobra.Command{
		Use: use, Short: short, Args: args,
		Example: "  spdl verify " + example + " --trust-height 1 --trust-hash 5F2B... --node tcp://127.0.0.1:26657 " +
			"--witness tcp://b.example.org:26657",
	}, func(r *command.Run, args []string) error {
		t, err := o.check(false)
		if err != nil {
			return err
		}
		if age < 0 {
			return command.Usage(fmt.Errorf("--max-age is %v, want 0 or above", age))
		}
		ctx, cancel := context.WithTimeout(r.Context, o.timeout)
		defer cancel()
		t.ChainID = o.chainID
		c, headers, t, err := o.follow(ctx, r, t)
		if err != nil {
			return err
		}
		asked, p, root, err := watch.Prove(ctx, c, path, args)
		if err != nil {
			return err
		}
		header, err := c.HeaderOf(ctx, t.ChainID, p.Height, root)
		if err != nil {
			return err
		}
		b, err := modelfile.Answer(ctx, asked, p.Proven, header.Height, headers)
		if err != nil {
			return err
		}
		if err := modelfile.Fresh(b, time.Now(), age); err != nil {
			return err
		}
		value, text, err := read(p.Value)
		if err != nil {
			return err
		}
		v := modelfile.VerdictOn(asked, t, b)
		v.Value = value
		return r.Show(v, func(w io.Writer) {
			v.Text(w)
			fmt.Fprintln(w)
			text(w)
		})
	})
	o.declare(cmd)
	command.Flag(cmd, &age, "max-age", maxAge, "how old the header may be that the answer leads to, by this machine's "+
		"clock; 0 for any age")
	return cmd
}

func verifyRound() *cobra.Command {
	return verifyAnswer("round [[EPOCH] ROUND]", "Check the record of a closed round (default: the last that "+
		"the node says)", "round 11", 0, watch.RoundArgs,
		watch.OfRound("round"),
		func(value []byte) (any, func(io.Writer), error) {
			var r app.Record
			err := r.Unmarshal(value)
			return r, func(w io.Writer) { watch.RoundText(w, r, nil, "") }, err
		})
}

func verifyParticipant() *cobra.Command {
	return verifyAnswer("participant INDEX", "Check what the chain has of a participant: keys, reputation, spend",
		"participant 2", 10*time.Minute, watch.IndexArg,
		func(_ context.Context, _ *client.Client, args []string) (string, error) {
			index, err := watch.ParticipantIndex(args[0])
			return fmt.Sprintf("participants/%d", index), err
		},
		func(value []byte) (any, func(io.Writer), error) {
			var p app.Participant
			err := p.Unmarshal(value)
			return p, func(w io.Writer) {
				fmt.Fprintf(w, "participant     %d, %q\nid              %x\npublic key      %x\nactive          "+
					"%t\nreputation      %.6f\nparticipations  %d\n",
					p.Index, p.Moniker, p.Id, p.PubKey, p.Active, float64(p.Reputation)/params.One, p.Participations)
			}, err
		})
}
