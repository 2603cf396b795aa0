package consortium

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func txApprove() *cobra.Command {
	var joinPath string
	yes := false
	cmd := acting(&cobra.Command{Use: "approve PROPOSAL", Short: "Approve a proposal that waits",
		Example: "  spdl query proposals\n  spdl tx approve 4F0C21AB --home ./node",
		Args:    proposalArg}, &signOptions{},
		func(ctx context.Context, s *sender, p app.Participant, args []string) (tx.Body, error) {
			id, waiting, m, err := s.waiting(ctx, args[0], joinPath != "")
			if err != nil {
				return nil, err
			}
			if waiting != nil {
				if err := s.present(ctx, m, *waiting, yes); err != nil {
					return nil, err
				}
			}
			join, err := joinFile(joinPath, id)
			return &tx.Approve{Participant: p.Index, Proposal: id, Join: join, Revocations: p.Revocations}, err
		})
	cmd.Long = cmd.Short + ".\n" +
		"PROPOSAL is its id, as `spdl query proposals` shows it, or the first 8 digits or more, if no other id " +
		"begins so.\n" +
		"If you have looked at the proposal, approve it by the whole id.\n" +
		"Before it signs, it prints every parameter that a next epoch changes, N and f after a removal, and the warnings " +
		"that\n" +
		"the proposer had.\n" +
		"With --join FILE, what `spdl tx join --dry-run` printed, it brings in a request that does not wait yet, or " +
		"that others\n" +
		"have crowded out; PROPOSAL is then the whole id."
	command.Flag(cmd, &joinPath, "join", "", "file with the signed join that is approved")
	command.Flag(cmd, &yes, "yes", false, "approve even if f falls to 0, or if a participant's budget pays for none of "+
		"an epoch's rounds")
	return cmd
}

// joinFile returns the transaction in the file of --join, or nil without one.
func joinFile(file string, id []byte) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	t, err := readTx(file, false)
	if err != nil {
		return nil, err
	}
	if got := t.ID(); !bytes.Equal(got[:], id) {
		return nil, fmt.Errorf("%s holds the %s %x, approved is %x", file, t.Kind(), got, id)
	}
	return t.Raw, nil
}

// present prints the effect of an open proposal, and the warnings that its proposer had. It fails
// without yes where the proposer's command has to be told to go on.
func (s *sender) present(ctx context.Context, m query.Membership, p query.Proposal, yes bool) error {
	running, err := s.Params(ctx)
	if err != nil {
		return err
	}
	effect, err := chainview.EffectOf(m, p, running)
	if err != nil {
		return err
	}
	if err := s.show(effect, "approve", yes); err != nil {
		return err
	}
	if p.Kind != tx.KindStartEpoch.String() && p.Kind != tx.KindUpgrade.String() {
		return nil
	}
	body, err := p.Body()
	if err != nil {
		return err
	}
	switch b := body.(type) {
	case *tx.Upgrade:
		return s.warnUpgrade(ctx, b)
	case *tx.StartEpoch:
		next, err := params.Decode(b.Params)
		if err != nil {
			return err
		}
		weak, err := next.Validate(m.Participants)
		if err != nil {
			s.run.Warn(fmt.Sprintf("with %d participants the proposal is not possible: %v", m.Participants, err))
			return nil
		}
		for _, w := range weak {
			s.run.Warn(w)
		}
		return s.checkEpoch(ctx, next, m.Participants, yes || s.options.dryRun, "--yes")
	}
	return nil
}

// waiting finds a proposal that waits by its id or a prefix of it. The proposal is nil for a whole id
// that no proposal has: the node decides about that. If the transaction carries the proposal, an
// earlier end of the proposal is no error.
func (s *sender) waiting(ctx context.Context, arg string, carried bool) (id []byte, p *query.Proposal,
	m query.Membership, err error) {
	if m, err = s.Membership(ctx); err != nil {
		return nil, nil, m, err
	}
	ids := make([]string, len(m.Proposals))
	for i, p := range m.Proposals {
		ids[i] = p.ID
	}
	i, err := unique("proposal", arg, ids)
	if err != nil {
		if known := s.ended(ctx, arg); known != nil && !carried {
			return nil, nil, m, known
		}
		if len(arg) == 64 {
			id, err = hex.DecodeString(arg)
			return id, nil, m, err
		}
		return nil, nil, m, fmt.Errorf("%w; it may have been decided before: the list says what became of earlier ones", err)
	}
	s.about = m.Proposals[i].Kind + ": " + chainview.AboutByName(m, m.Proposals[i])
	if id, err = hex.DecodeString(ids[i]); err != nil {
		return nil, nil, m, fmt.Errorf("proposal %q of the node's answer: %w", ids[i], err)
	}
	return id, &m.Proposals[i], m, nil
}

// ended returns an error with the end of an earlier proposal whose id begins with a prefix. It returns nil if the
// node's index has no such proposal.
func (s *sender) ended(ctx context.Context, prefix string) error {
	e, err := chainview.EnactmentOf(ctx, s.RPC(), strings.ToLower(prefix))
	if err != nil || e == nil {
		return nil
	}
	return endedError(prefix, e)
}

// endedError returns the error for an approval of a proposal that has ended, or a withdrawal from it.
func endedError(id string, e *client.Enactment) error {
	switch {
	case e.Discarded == "withdrawn":
		return fmt.Errorf("proposal %.8s (%s) was withdrawn at height %d", id, e.Kind, e.Height)
	case e.Discarded != "":
		return fmt.Errorf("proposal %.8s (%s) has expired at height %d", id, e.Kind, e.Height)
	case e.Refused != "":
		return fmt.Errorf("proposal %.8s (%s) was accepted, and not possible at height %d: %s", id, e.Kind, e.Height,
			e.Refused)
	}
	instead := ""
	if e.Kind == tx.KindUpgrade.String() {
		instead = ": spdl tx upgrade NAME --cancel proposes to cancel it"
	}
	return fmt.Errorf("proposal %.8s (%s) is in force since height %d: it needs no further approval, and cannot be "+
		"withdrawn%s", id, e.Kind, e.Height, instead)
}

// show prints an effect for the one who signs. It fails if f falls to 0 and the command, which needs
// no confirmation in a dry run, has no --yes.
func (s *sender) show(e chainview.Effect, verb string, yes bool) error {
	for _, line := range e.Lines() {
		fmt.Fprintln(s.run.Err, command.Plain(line))
	}
	if e.Zero && !yes && !s.options.dryRun {
		return command.Usage(fmt.Errorf("f falls to 0, and the consortium would withstand no fault: %s with --yes", verb))
	}
	return nil
}

// proposalArg accepts the id of one proposal, or its beginning.
var proposalArg = cobra.MatchAll(cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
	return checkPrefix("proposal", args[0])
})

func checkPrefix(what, arg string) error {
	if len(arg) < prefixDigits || len(arg) > 64 || strings.Trim(arg, "0123456789abcdefABCDEF") != "" {
		return command.Usage(fmt.Errorf("%s %q, want %d to 64 hex digits of its id", what, arg, prefixDigits))
	}
	return nil
}

// unique returns the index of the only id that begins with a prefix.
func unique(what, prefix string, ids []string) (int, error) {
	found := -1
	for i, id := range ids {
		if !strings.HasPrefix(id, strings.ToLower(prefix)) {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%s %s: %q and %q begin so", what, prefix, ids[found], id)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("none of %d %ss begins with %s (spdl query %s lists them)", len(ids), what, prefix,
			map[bool]string{true: "proposals", false: "membership"}[what == "proposal"])
	}
	return found, nil
}

func txWithdraw() *cobra.Command {
	cmd := acting(&cobra.Command{Use: "withdraw PROPOSAL",
		Short:   "Take back the approval of a proposal that is not accepted yet",
		Example: "  spdl tx withdraw 4F0C21AB --home ./node", Args: proposalArg}, &signOptions{},
		func(ctx context.Context, s *sender, p app.Participant, args []string) (tx.Body, error) {
			id, _, _, err := s.waiting(ctx, args[0], false)
			return &tx.Withdraw{Participant: p.Index, Proposal: id, Revocations: p.Revocations}, err
		})
	cmd.Long = cmd.Short + ".\n" +
		"PROPOSAL is its id, as `spdl query proposals` shows it, or the first 8 digits or more, if no other id " +
		"begins so.\n" +
		"A proposal is the first approval of its proposer. Once no approval is left, the proposal ends as withdrawn. " +
		"What is\n" +
		"accepted cannot be withdrawn; spdl tx upgrade --cancel cancels an upgrade that is planned."
	return cmd
}
