package tx

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
)

func txWithdraw() *cobra.Command {
	cmd := transact(&cobra.Command{Use: "withdraw PROPOSAL",
		Short:   "Take back the approval of a proposal that is not accepted yet",
		Example: "  spdl tx withdraw 4F0C21AB --home ./node", Args: proposalArg}, &signOptions{},
		func(ctx context.Context, s *sender, args []string) (tx.Body, error) {
			id, waiting, m, err := s.waiting(ctx, args[0], false)
			if err != nil {
				return nil, err
			}
			p, err := s.self(ctx)
			if err != nil {
				return nil, err
			}
			if waiting != nil {
				if err := checkWithdrawal(m, *waiting, p.Index); err != nil {
					return nil, err
				}
			}
			return &tx.Withdraw{Participant: p.Index, Proposal: id, Revocations: p.Revocations}, nil
		})
	cmd.Long = cmd.Short + ".\n" +
		"PROPOSAL is its id, as `spdl query proposals` shows it, or the first 8 digits or more, if no other id " +
		"begins so.\n" +
		"A proposal is the first approval of its proposer. Once no approval is left, the proposal ends as withdrawn. " +
		"What is\n" +
		"accepted cannot be withdrawn; spdl tx upgrade --cancel cancels an upgrade that is planned."
	return cmd
}

// checkWithdrawal returns an error if a participant cannot withdraw from a proposal that waits.
func checkWithdrawal(m query.Membership, p query.Proposal, index uint32) error {
	switch {
	case p.Accepted:
		return fmt.Errorf("proposal %.8s (%s) of height %d is accepted, and takes effect at a round boundary; approved by %s",
			p.ID, p.Kind, p.Height, approvers(m, p))
	case !slices.Contains(p.Approvals, index):
		return fmt.Errorf("participant %d has not approved proposal %.8s (%s) of height %d; approved by %s", index, p.ID,
			p.Kind, p.Height, approvers(m, p))
	}
	return nil
}

// approvers names the participants that approved a proposal.
func approvers(m query.Membership, p query.Proposal) string {
	var names []string
	for _, index := range p.Approvals {
		names = append(names, m.NameOf(index))
	}
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}
