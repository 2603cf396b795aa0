package consortium

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/node"
)

// pollInterval is the time between two queries about a transaction.
const pollInterval = 100 * time.Millisecond

// Tx returns the group of commands.
func Tx() *cobra.Command {
	return command.Group("tx", "Sign and send transactions of membership and governance",
		txJoin(), txApprove(), txLeave(), txRotate(), txRestore(), txRemove(), txEvidence(), txStartEpoch(), txUpgrade(),
		txWithdraw())
}

// sendOptions are the options of a command that sends a transaction.
type sendOptions struct {
	node         string
	wait, dryRun bool
	timeout      time.Duration
}

func (o *sendOptions) declare(cmd *cobra.Command) {
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.wait, "wait", true, "wait until a block holds the transaction")
	command.Flag(cmd, &o.timeout, "timeout", 30*time.Second, "how long to wait").Positive()
	command.Flag(cmd, &o.dryRun, "dry-run", false, "print the transaction as base64 and send nothing")
}

// signOptions are the options of a command that signs and sends a transaction.
type signOptions struct {
	sendOptions
	key, chainID string
	check        func() error // called before a home or a node is asked; may be nil
}

func (o *signOptions) declare(cmd *cobra.Command) {
	o.sendOptions.declare(cmd)
	command.Flag(cmd, &o.chainID, "chain-id", "", "id of the chain (default: what the node says)")
	node.Flag(cmd, &o.key)
}

// transact makes cmd sign one transaction, send it and show its report.
func transact(cmd *cobra.Command, o *signOptions, body func(ctx context.Context, s *sender, args []string) (tx.Body,
	error)) *cobra.Command {
	cmd = command.New(cmd, func(r *command.Run, args []string) error {
		if o.check != nil {
			if err := o.check(); err != nil {
				return err
			}
		}
		s, err := newSender(r, o)
		if err != nil {
			return err
		}
		t, err := s.sign(r.Context, func(ctx context.Context) (tx.Body, error) { return body(ctx, s, args) })
		if err != nil {
			return err
		}
		return s.deliver(t)
	})
	o.declare(cmd)
	return cmd
}

// acting is transact for a transaction of the active participant with the sender's key.
func acting(cmd *cobra.Command, o *signOptions, body func(ctx context.Context, s *sender, p app.Participant,
	args []string) (tx.Body, error)) *cobra.Command {
	return transact(cmd, o, func(ctx context.Context, s *sender, args []string) (tx.Body, error) {
		all, err := s.Participants(ctx)
		if err != nil {
			return nil, err
		}
		p, err := node.Holder(all, s.keyFile, s.own.Signing)
		if err != nil {
			return nil, err
		}
		return body(ctx, s, p, args)
	})
}

// sender holds the participant that signs a transaction, and a client of the node that receives it.
type sender struct {
	*client.Client
	run     *command.Run
	options *signOptions
	keyFile string
	own     home.Participant
	about   string // kind and summary of the proposal that the transaction approves or withdraws from
}

// newSender reads the key file, or finds the home's signer. An absolute --key needs no home.
func newSender(r *command.Run, o *signOptions) (*sender, error) {
	c, err := r.Client(o.node)
	if err != nil {
		return nil, err
	}
	s := &sender{Client: c, run: r, options: o, keyFile: o.key}
	if !filepath.IsAbs(s.keyFile) {
		c, a, err := r.LoadHome()
		if err != nil {
			return nil, err
		}
		if o.key == "" && a.Worker.Signer != "" {
			s.keyFile = a.Worker.Signer
			if s.own, err = home.OpenParticipant(r.Context, c, a, r.Keystore()); err == nil {
				err = s.own.CheckKnown()
			}
			return s, err
		}
		s.keyFile = node.File(o.key, c, a)
	}
	held, err := r.Keystore().LoadKeys(s.keyFile)
	if err != nil {
		return nil, err
	}
	s.own = home.ParticipantWith(held)
	return s, nil
}

// chain returns the id of the chain that the signature is for.
func (s *sender) chain(ctx context.Context) (string, error) {
	if id := s.options.chainID; id != "" {
		return id, nil
	}
	status, err := s.Status(ctx)
	if err != nil {
		return "", err
	}
	// A node that states a false chain id must not get a signature for another chain.
	doc, err := home.ReadGenesis(home.DefaultConfig().SetRoot(s.run.Home))
	if err == nil && doc.ChainID != status.ChainID {
		return "", fmt.Errorf("the node is on chain %q, the home's genesis is of %q; --chain-id decides", status.ChainID,
			doc.ChainID)
	}
	return status.ChainID, nil
}

// sign signs a body.
func (s *sender) sign(ctx context.Context, body func(context.Context) (tx.Body, error)) (*tx.Tx, error) {
	ctx, cancel := context.WithTimeout(ctx, command.QueryTimeout)
	defer cancel()
	b, err := body(ctx)
	if err != nil {
		return nil, err
	}
	chainID, err := s.chain(ctx)
	if err != nil {
		return nil, err
	}
	return s.own.Sign(ctx, chainID, b)
}

// Report is the outcome of a transaction.
type Report struct {
	Kind        string `json:"kind"`
	Hash        string `json:"hash"`
	Participant string `json:"participant_id,omitempty"` // that joins
	Proposal    string `json:"proposal,omitempty"`       // that it makes, approves or withdraws from
	About       string `json:"about,omitempty"`
	Code        uint32 `json:"code"`
	Log         string `json:"log,omitempty"`
	Height      int64  `json:"height,omitempty"` // of the block that holds it
	Next        string `json:"next,omitempty"`   // the next step, or the event that the transaction waits for
	Tx          []byte `json:"tx,omitempty"`     // of a dry run
}

func newReport(t *tx.Tx, about string) Report {
	r := Report{Kind: t.Kind().String(), Hash: fmt.Sprintf("%X", t.Hash), About: about}
	if d, err := app.Describe(t); err == nil {
		r.Proposal, r.Participant = d.Value("proposal"), d.Value("id")
	}
	return r
}

// text prints the report. It prints nothing about a rejected transaction, because the command's error says it all.
func (r Report) text(w io.Writer) {
	if r.Code != 0 {
		return
	}
	fmt.Fprintf(w, "transaction  %s, %s\n", r.Hash, r.Kind)
	height := ""
	if r.Height > 0 {
		height = fmt.Sprint(r.Height)
	}
	for _, line := range [][2]string{{"participant", r.Participant}, {"proposal", r.Proposal}, {"about", r.About},
		{"code", fmt.Sprint(r.Code)}, {"height", height}, {"next", r.Next}} {
		if line[1] != "" {
			fmt.Fprintf(w, "%-13s%s\n", line[0], command.Plain(line[1]))
		}
	}
}

// deliver sends a transaction and shows its report, or prints the transaction in a dry run.
func (s *sender) deliver(t *tx.Tx) error {
	if s.options.dryRun {
		return s.dryRun(t)
	}
	r := newReport(t, s.about)
	spoken, err := s.send(s.run.Context, t, &r)
	if !spoken {
		return err
	}
	return errors.Join(s.run.Show(r, r.text), err)
}

// dryRun shows a transaction without sending it.
func (s *sender) dryRun(t *tx.Tx) error {
	r := newReport(t, s.about)
	r.Tx = t.Raw
	return s.run.Show(r, command.Line(base64.StdEncoding.EncodeToString(t.Raw)))
}

// send broadcasts a transaction and, with --wait, waits for its block. It reports whether the node
// answered the broadcast.
func (s *sender) send(ctx context.Context, t *tx.Tx, r *Report) (spoken bool, err error) {
	ask, cancel := context.WithTimeout(ctx, command.QueryTimeout)
	defer cancel()
	err = s.Broadcast(ask, t)
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		r.Code, r.Log = refusal.Code, refusal.Log
		return true, err
	}
	if err != nil {
		return false, s.notTaken(ask, err)
	}
	if !s.options.wait {
		r.Next = "it waits for a block"
		return true, nil
	}
	wait, stop := context.WithTimeout(ctx, s.options.timeout)
	defer stop()
	if r.Height, err = s.included(wait, t, r); err != nil {
		return true, err
	}
	after, done := context.WithTimeout(ctx, command.QueryTimeout)
	defer done()
	r.Next, err = s.outlook(after, t, r)
	return true, err
}

// notTaken adds to the error of a broadcast, to a node that is catching up, the node's height and what lets the node
// in where its peers reject it.
func (s *sender) notTaken(ctx context.Context, err error) error {
	if !errors.Is(err, client.ErrNotTaken) || !strings.Contains(err.Error(), "catching up") {
		return err
	}
	status, unknown := s.RPC().Status(ctx)
	if unknown != nil {
		return err
	}
	hint := ""
	if closed, unknown := s.Connections(ctx); unknown == nil {
		hint = closed.Hint(string(status.NodeInfo.ID()))
	}
	return catchingUp(status.SyncInfo.LatestBlockHeight, hint)
}

// catchingUp returns the error of a transaction to a node that is catching up, at a height.
func catchingUp(height int64, hint string) error {
	if hint != "" {
		return fmt.Errorf("%w: it is at height %d and gets no blocks: %s", client.ErrNotTaken, height, hint)
	}
	return fmt.Errorf("%w: it is catching up, at height %d: send the transaction again when spdl status shows "+
		"catching_up false", client.ErrNotTaken, height)
}

// included waits for the block of a transaction and returns its height. It warns once that it waits, and once more of
// a chain that stands. If the proposal of an approval or a withdrawal no longer waits, it fails, because no block can
// accept the transaction.
func (s *sender) included(ctx context.Context, t *tx.Tx, r *Report) (int64, error) {
	said := ""
	for began := time.Now(); ; {
		look, stop := context.WithTimeout(ctx, patience)
		height, err := s.Included(look, t, pollInterval)
		stop()
		waited := time.Since(began).Round(time.Second)
		switch {
		case errors.Is(err, client.ErrUnreachable) && ctx.Err() == nil: // the node may come back
		case !errors.Is(err, context.DeadlineExceeded):
			return height, err
		case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
			return 0, ctx.Err()
		case ctx.Err() != nil:
			return 0, fmt.Errorf("transaction %s is in no block after %v; the node took it, and it may come yet", r.Hash, waited)
		}
		m, err := s.Membership(ctx)
		approves := t.Kind() == tx.KindApprove || t.Kind() == tx.KindWithdraw
		if err == nil && approves && !slices.ContainsFunc(m.Proposals,
			func(p query.Proposal) bool { return p.ID == r.Proposal }) {
			return 0, fmt.Errorf("proposal %s does not wait: it was enacted, replaced, discarded or dropped before this %s "+
				"came into a block (spdl query proposals)", r.Proposal, t.Kind())
		}
		all, _ := s.Participants(ctx) // without them validators have no names
		text := fmt.Sprintf("no block has the transaction yet, waiting for up to %v", s.options.timeout)
		if v, err := client.ReadVotes(ctx, s.RPC(), all); err == nil && time.Since(v.Since) > client.Overdue {
			text += ". " + command.Plain(v.Standstill())
		}
		if text != said {
			said = text
			s.run.Warn(text)
		}
	}
}

// patience is the time between two looks at a transaction that is in no block yet.
const patience = 3 * time.Second
