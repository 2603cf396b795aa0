package app

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
)

// joinOp is an outsider's request for membership. It needs approvals.
type joinOp struct{ *tx.Join }

func (j joinOp) sender() sender { return outsiderSender(j.PubKey) }

func (j joinOp) identity() Identity {
	return Identity{PubKey: j.PubKey, VrfKey: j.VrfKey, ConsensusKey: j.ConsensusKey, Moniker: j.Moniker,
		Address: j.Address, NodeIDs: j.NodeIds}
}

// checkIdentity checks the form of keys and names, and the proofs of possession (M1).
func (j joinOp) checkIdentity(chainID string) error {
	if err := j.identity().Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	if _, err := leader.Verify(j.VrfKey, leader.PossessionInput(chainID, j.PubKey), j.VrfProof); err != nil {
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	return CheckConsensusProof(chainID, j.PubKey, j.ConsensusKey, j.ConsensusProof)
}

func (j joinOp) check(s *State) error { return j.checkPossible(s) }

// checkPossible rejects a join if one of its keys is taken (M2), or if the consortium cannot have
// another participant (M6). It also rejects a validator without node ids if nodes reject outsiders.
func (j joinOp) checkPossible(s *State) error {
	if err := s.checkKeysFree(nil, j.keys()); err != nil {
		return err
	}
	if len(j.ConsensusKey) > 0 && len(j.NodeIds) == 0 && isClosed(s.Participants) {
		return fmt.Errorf("%w: it names a validator and no node_ids, want at least one: all members have named theirs",
			ErrInfeasible)
	}
	return s.checkFeasible(s.Active() + 1)
}

func (j joinOp) apply(s *State, t *tx.Tx) { s.addRequest(j, t) }

func (j joinOp) isReady(*State) bool { return true }

func (j joinOp) execute(s *State) (uint32, error) {
	index := uint32(len(s.Participants))
	if err := j.checkPossible(s); err != nil {
		return index, err
	}
	p := NewParticipant(index, j.identity(), s.Params.Reputation)
	p.Joined, p.Contends = s.Progress.Round, s.history.size+contendAfter
	s.Participants = append(s.Participants, p)
	return index, nil
}

func (j joinOp) isObsolete(s *State) bool { return j.checkPossible(s) != nil }

func (j joinOp) keys() keys { return keys{j.PubKey, j.VrfKey, j.ConsensusKey} }

func (j joinOp) describe() Description {
	id := ParticipantID(j.PubKey)
	consensus := cmp.Or(hex.EncodeToString(j.ConsensusKey), "none, a worker alone")
	return Description{
		Summary:    "join of " + j.Moniker,
		Attributes: []Attribute{{"id", hex.EncodeToString(id[:])}, {"moniker", j.Moniker}},
		Details: []Attribute{{"address", j.Address}, {"signing key", hex.EncodeToString(j.PubKey)},
			{"consensus key", consensus}, {"nodes", strings.Join(j.NodeIds, " ")}},
	}
}
