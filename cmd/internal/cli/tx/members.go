package tx

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/keys"
)

// prefixDigits is the min length of an id's prefix that a command accepts for the id.
const prefixDigits = 8

// proveConsensusKey returns the proof, by the home's validator key, that this key belongs to the
// participant with a signing key.
func proveConsensusKey(s *sender, chainID string, pub []byte) ([]byte, error) {
	c, _, err := s.run.LoadHome()
	if err != nil {
		return nil, err
	}
	key, err := s.run.Keystore().LoadValidatorKey(c.PrivValidatorKeyFile())
	if err != nil {
		return nil, err
	}
	return app.ProveConsensusKey(chainID, pub, key), nil
}

func txJoin() *cobra.Command {
	o, identity := &signOptions{}, &keys.IdentityOptions{}
	cmd := transact(&cobra.Command{Use: "join", Short: "Ask for membership with the home's keys",
		Example: "  spdl tx join --home ./node --node tcp://a.example.org:26657\n" +
			"  spdl tx join --home ./node --dry-run > join.b64"}, o,
		func(ctx context.Context, s *sender, _ []string) (tx.Body, error) {
			who, keys, err := identity.Identity(s.run, o.key)
			if err != nil {
				return nil, err
			}
			if who.Address == "" && len(who.NodeIDs) > 0 {
				s.run.Warn("no address is registered, because other nodes cannot reach the home's: give --address HOST:PORT, " +
					"unless the node dials alone")
			}
			chainID, err := s.chain(ctx)
			if err != nil {
				return nil, err
			}
			var proof []byte
			if len(who.ConsensusKey) > 0 {
				if proof, err = proveConsensusKey(s, chainID, who.PubKey); err != nil {
					return nil, err
				}
			}
			return &tx.Join{
				PubKey: who.PubKey, VrfKey: who.VrfKey, VrfProof: app.ProveVRFKey(chainID, who.PubKey, keys.VRF),
				ConsensusKey: who.ConsensusKey, ConsensusProof: proof, Moniker: who.Moniker, Address: who.Address,
				NodeIds: who.NodeIDs,
			}, nil
		})
	cmd.Long = cmd.Short + ".\n" +
		"More than two thirds of the active participants must approve; the participant is in the round after. " +
		"Start its node\n" +
		"before: a validator that does not vote weakens the chain, and a participant that sends no gradient holds rounds up."
	identity.Flags(cmd)
	return cmd
}

func txApprove() *cobra.Command {
	var joinPath string
	yes := false
	cmd := transact(&cobra.Command{Use: "approve PROPOSAL", Short: "Approve a proposal that waits",
		Example: "  spdl query proposals\n  spdl tx approve 4F0C21AB --home ./node",
		Args:    proposalArg}, &signOptions{},
		func(ctx context.Context, s *sender, args []string) (tx.Body, error) {
			id, waiting, m, err := s.waiting(ctx, args[0], joinPath != "")
			if err != nil {
				return nil, err
			}
			p, err := s.self(ctx)
			if err != nil {
				return nil, err
			}
			if waiting != nil {
				if err := checkApproval(m, *waiting, p.Index); err != nil {
					return nil, err
				}
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
	effect, err := m.Effect(p, running)
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

// checkApproval returns an error if a participant cannot approve a proposal that waits.
func checkApproval(m query.Membership, p query.Proposal, index uint32) error {
	switch {
	case p.Accepted:
		return fmt.Errorf("proposal %.8s (%s) of height %d is accepted, and takes effect at a round boundary: it needs no "+
			"further approval; approved by %s", p.ID, p.Kind, p.Height, approvers(m, p))
	case slices.Contains(p.Approvals, index):
		return fmt.Errorf("participant %d has approved proposal %.8s (%s) of height %d before: spdl query proposals shows "+
			"whose approval is missing; approved by %s", index, p.ID, p.Kind, p.Height, approvers(m, p))
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
	s.about = m.Proposals[i].Kind + ": " + m.AboutByName(m.Proposals[i])
	if id, err = hex.DecodeString(ids[i]); err != nil {
		return nil, nil, m, fmt.Errorf("proposal %q of the node's answer: %w", ids[i], err)
	}
	return id, &m.Proposals[i], m, nil
}

// ended returns an error with the end of an earlier proposal whose id begins with a prefix. It returns nil if the
// node's index has no such proposal.
func (s *sender) ended(ctx context.Context, prefix string) error {
	e, err := s.EnactmentOf(ctx, strings.ToLower(prefix))
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
func (s *sender) show(e query.Effect, verb string, yes bool) error {
	for _, line := range e.Lines() {
		fmt.Fprintln(s.run.Err, command.Plain(line))
	}
	if e.Zero && !yes && !s.options.dryRun {
		return command.Usage(fmt.Errorf("f falls to 0, and the consortium would withstand no fault: %s with --yes", verb))
	}
	return nil
}

// proposalArg accepts the id of one proposal, or its beginning.
func proposalArg(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	return checkPrefix("proposal", args[0])
}

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

func txLeave() *cobra.Command {
	yes := false
	cmd := transact(&cobra.Command{Use: "leave", Short: "Leave the consortium at the next round boundary",
		Example: "  spdl tx leave --home ./node"}, &signOptions{},
		func(ctx context.Context, s *sender, _ []string) (tx.Body, error) {
			p, err := s.self(ctx)
			if err != nil {
				return nil, err
			}
			m, err := s.Membership(ctx)
			if err != nil {
				return nil, err
			}
			if err := s.show(m.EffectOfEnd(p.Index), "leave", yes); err != nil {
				return nil, err
			}
			return &tx.Remove{Participant: p.Index, Subject: p.Index, Nonce: p.Nonce + 1}, nil
		})
	command.Flag(cmd, &yes, "yes", false, "leave even if f falls to 0")
	cmd.Long = cmd.Short + ".\nKeep the node running for one more block, on which its validator still has to vote. " +
		"Nobody else gets its index.\nThe models keep what its gradients taught them: spdl audit withdraw INDEX says since " +
		"which round,\nand what training again without them costs."
	return cmd
}

func txRestore() *cobra.Command {
	return transact(&cobra.Command{Use: "restore PARTICIPANT",
		Short:   "Propose to give a participant of reputation 0 the initial one",
		Example: "  spdl tx restore 5 --home ./node", Args: cobra.ExactArgs(1)}, &signOptions{},
		func(ctx context.Context, s *sender, args []string) (tx.Body, error) {
			proposer, subject, nonce, err := s.proposing(ctx, args[0])
			return &tx.Restore{Participant: proposer, Subject: subject, Nonce: nonce}, err
		})
}

func txRemove() *cobra.Command {
	yes := false
	cmd := transact(&cobra.Command{Use: "remove PARTICIPANT", Short: "Propose to end a participant's membership",
		Example: "  spdl tx remove 5 --home ./node\n  spdl tx remove hospital-b --home ./node",
		Args:    cobra.ExactArgs(1)}, &signOptions{},
		func(ctx context.Context, s *sender, args []string) (tx.Body, error) {
			proposer, subject, nonce, err := s.proposing(ctx, args[0])
			if err != nil {
				return nil, err
			}
			m, err := s.Membership(ctx)
			if err != nil {
				return nil, err
			}
			return &tx.Remove{Participant: proposer, Subject: subject, Nonce: nonce},
				s.show(m.EffectOfEnd(subject), "remove", yes)
		})
	command.Flag(cmd, &yes, "yes", false, "propose it even if f falls to 0")
	return cmd
}

// proposing returns the fields of a proposal about a participant: the proposer, the subject and the
// nonce after the proposer's last.
func (s *sender) proposing(ctx context.Context, arg string) (proposer, subject uint32, nonce uint64, err error) {
	m, err := s.Membership(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	if subject, err = memberOf(m, arg); err != nil {
		return 0, 0, 0, err
	}
	p, err := s.self(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	return p.Index, subject, p.Nonce + 1, nil
}

// memberOf finds a participant by its index, by its moniker if no other participant has that, or by a prefix of its
// id: an index has fewer digits than a prefix. A number is never a moniker, and a prefix of an id comes before one,
// because members choose their monikers.
func memberOf(m query.Membership, arg string) (uint32, error) {
	index, notIndex := strconv.ParseUint(arg, 10, 32)
	if len(arg) < prefixDigits && notIndex == nil {
		if !slices.ContainsFunc(m.Members, func(q query.Member) bool { return uint64(q.Index) == index }) {
			return 0, command.Usage(fmt.Errorf("no participant has the index %d: spdl query membership lists them", index))
		}
		return uint32(index), nil
	}
	ids := make([]string, len(m.Members))
	var named []uint32
	for i, q := range m.Members {
		ids[i] = q.ID
		if q.Moniker == arg {
			named = append(named, q.Index)
		}
	}
	noPrefix := checkPrefix("participant", arg)
	if noPrefix == nil {
		i, err := unique("participant", arg, ids)
		if err == nil {
			return m.Members[i].Index, nil
		}
		if len(named) == 0 {
			return 0, err
		}
	}
	switch {
	case len(named) == 1:
		return named[0], nil
	case len(named) > 1:
		return 0, command.Usage(fmt.Errorf("participants %v have the moniker %q: name the index", named, arg))
	}
	return 0, command.Usage(fmt.Errorf("participant %q, want an index, a moniker, or %d to 64 hex digits of an id: "+
		"spdl query membership lists them", arg, prefixDigits))
}
