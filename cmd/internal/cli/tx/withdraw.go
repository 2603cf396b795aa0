package tx

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/tx"
)

func txWithdraw() *cobra.Command {
	cmd := transact(&cobra.Command{Use: "withdraw PROPOSAL",
		Short:   "Take back the approval of a proposal that is not accepted yet",
		Example: "  spdl tx withdraw 4F0C21AB --home ./node", Args: proposalArg}, &signOptions{},
		func(ctx context.Context, s *sender, args []string) (tx.Body, error) {
			id, _, _, err := s.waiting(ctx, args[0], false)
			if err != nil {
				return nil, err
			}
			p, err := s.self(ctx)
			if err != nil {
				return nil, err
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
