package consortium

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/node"
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
	o, identity, yes := &signOptions{}, &node.IdentityOptions{}, false
	cmd := transact(&cobra.Command{Use: "join", Short: "Ask for membership with the home's keys",
		Example: "  spdl tx join --home ./node --node tcp://a.example.org:26657\n" +
			"  spdl tx join --home ./node --dry-run > join.b64"}, o,
		func(ctx context.Context, s *sender, _ []string) (tx.Body, error) {
			who, own, err := identity.Identity(s.run, o.key)
			if err != nil {
				return nil, err
			}
			if c, _, err := s.run.LoadHome(); err == nil && who.Address == "" && len(who.NodeIDs) > 0 {
				text := "no address is registered: " + node.NoAddress(c)
				if !yes && !o.dryRun {
					return nil, command.Usage(errors.New(text + ": give --address HOST:PORT, or --yes if the node dials alone"))
				}
				s.run.Warn(text + "; give --address HOST:PORT, unless the node dials alone")
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
				PubKey: who.PubKey, VrfKey: who.VrfKey, VrfProof: app.ProveVRFKey(chainID, who.PubKey, own.VRF),
				ConsensusKey: who.ConsensusKey, ConsensusProof: proof, Moniker: who.Moniker, Address: who.Address,
				NodeIds: who.NodeIDs,
			}, nil
		})
	cmd.Long = cmd.Short + `.
More than two thirds of the active participants must approve; the participant is in the round after. Start its node
before: a validator that does not vote weakens the chain, and a participant that sends no gradient holds rounds up.`
	identity.Flags(cmd)
	command.Flag(cmd, &yes, "yes", false, "join without an address at which other nodes reach this one")
	return cmd
}

func txLeave() *cobra.Command {
	yes := false
	cmd := acting(&cobra.Command{Use: "leave", Short: "Leave the consortium at the next round boundary",
		Example: "  spdl tx leave --home ./node --yes"}, &signOptions{},
		func(ctx context.Context, s *sender, p app.Participant, _ []string) (tx.Body, error) {
			m, err := s.Membership(ctx)
			if err != nil {
				return nil, err
			}
			if err := s.show(chainview.EffectOfEnd(m, p.Index), "leave", true); err != nil {
				return nil, err
			}
			if !yes && !s.options.dryRun {
				return nil, command.Usage(errors.New("leaving is final, and waits for nobody's approval: at the next round " +
					"boundary the membership ends, and the chain never accepts this home's keys again; leave with --yes"))
			}
			return &tx.Remove{Participant: p.Index, Subject: p.Index, Nonce: p.Nonce + 1}, nil
		})
	command.Flag(cmd, &yes, "yes", false, "leave for good, even if f falls to 0")
	cmd.Long = cmd.Short + ".\nKeep the node running for one more block, on which its validator still has to vote. " +
		"Nobody else gets its index.\nThe models keep what its gradients taught them: spdl audit withdraw INDEX says since " +
		"which round,\nand what training again without them costs."
	return cmd
}

func txRestore() *cobra.Command {
	return acting(&cobra.Command{Use: "restore PARTICIPANT",
		Short:   "Propose to give a participant of reputation 0 the initial one",
		Example: "  spdl tx restore 5 --home ./node", Args: cobra.ExactArgs(1)}, &signOptions{},
		func(ctx context.Context, s *sender, p app.Participant, args []string) (tx.Body, error) {
			_, subject, err := s.member(ctx, args[0])
			return &tx.Restore{Participant: p.Index, Subject: subject, Nonce: p.Nonce + 1}, err
		})
}

func txRemove() *cobra.Command {
	yes := false
	cmd := acting(&cobra.Command{Use: "remove PARTICIPANT", Short: "Propose to end a participant's membership",
		Example: "  spdl tx remove 5 --home ./node\n  spdl tx remove hospital-b --home ./node",
		Args:    cobra.ExactArgs(1)}, &signOptions{},
		func(ctx context.Context, s *sender, p app.Participant, args []string) (tx.Body, error) {
			m, subject, err := s.member(ctx, args[0])
			if err != nil {
				return nil, err
			}
			return &tx.Remove{Participant: p.Index, Subject: subject, Nonce: p.Nonce + 1},
				s.show(chainview.EffectOfEnd(m, subject), "remove", yes)
		})
	command.Flag(cmd, &yes, "yes", false, "propose it even if f falls to 0")
	return cmd
}

// member returns the members of the chain, and the index of the one that an argument names.
func (s *sender) member(ctx context.Context, arg string) (m query.Membership, subject uint32, err error) {
	if m, err = s.Membership(ctx); err == nil {
		subject, err = memberOf(m, arg)
	}
	return m, subject, err
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
