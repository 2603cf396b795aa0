package app

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
)

// With election.commit_reveal an open round has two phases. In the commit phase blocks take commitments: hashes of
// gradients that only their senders know. In the reveal phase they take those gradients. Progress.Opened is the first
// height of the current phase; quorum_blocks and view_blocks count from that height.

// Committing reports whether the open round is in its commit phase.
func (s *State) Committing() bool {
	return s.Params.Election.CommitReveal && !s.Progress.Revealing
}

// Commitment returns the hash of the gradient to which an active participant has committed itself
// in the open round, or nil without a commitment.
func (s *State) Commitment(participant uint32) []byte {
	if c := s.commitment(participant); c != nil {
		return c.Hash
	}
	return nil
}

// commitment returns the commitment of an active participant in the open round, or nil.
func (s *State) commitment(participant uint32) *Commitment {
	all := s.Progress.Commitments
	i, ok := slices.BinarySearchFunc(all, participant, func(c Commitment, p uint32) int {
		return cmp.Compare(c.Participant, p)
	})
	if !ok || s.participant(participant) == nil {
		return nil
	}
	return &all[i]
}

// TakesCommits reports whether a block at the given height may carry commitments: in the commit
// phase every block, and in the reveal phase every block from the quorum height on. At that height
// the round could close, unless participants withhold gradients that they committed to and that it
// needs. So it needs participants that missed the commit phase, if there are any.
func (s *State) TakesCommits(height uint64) bool {
	return s.Committing() || s.Params.Election.CommitReveal && height >= s.Progress.Opened+s.Params.Election.QuorumBlocks
}

// Overdue reports whether f+1 leaders have missed their views before the given height. It counts
// only views that began when N-f gradients were enough to close the round.
func (s *State) Overdue(height uint64) bool {
	e := s.Params.Election
	return height >= s.Progress.Opened+e.QuorumBlocks+e.ViewBlocks*uint64(s.F()+1)
}

// admitCommit checks round, hash, sender, signature and VRF proof of a commitment for the open round
// or the next round (C1 to C4, C7).
func (s *State) admitCommit(t *tx.Tx) error {
	c, open := t.Commit, s.Progress.Round
	switch {
	case s.Finished():
		return fmt.Errorf("%w: %d of %d rounds are closed", ErrFinished, open, s.Params.Training.Rounds)
	case !s.Params.Election.CommitReveal:
		return fmt.Errorf("%w: the epoch has no commit_reveal", ErrCommit)
	case c.Epoch != s.Progress.Epoch || c.Round < open || c.Round > open+1 || c.Round >= s.Params.Training.Rounds:
		return fmt.Errorf("%w: got epoch %d round %d, open is epoch %d round %d of %d", ErrCommit, c.Epoch, c.Round,
			s.Progress.Epoch, open, s.Params.Training.Rounds)
	case len(c.Hash) != sha256.Size:
		return fmt.Errorf("%w: %d bytes, want %d", ErrCommitHash, len(c.Hash), sha256.Size)
	}
	p := s.participant(c.Participant)
	if p == nil || !s.isContributor(p) {
		return fmt.Errorf("%w: participant %d, %d are registered", ErrCommitSender, c.Participant, len(s.Participants))
	}
	if err := t.Verify(s.ChainID, p.PubKey); err != nil {
		return fmt.Errorf("%w: %w", ErrCommitSigned, err)
	}
	// The VRF proof of a commitment for the next round cannot be verified yet, because the seed of that
	// round is not known.
	if n := len(c.VrfProof); n != leader.ProofSize {
		return fmt.Errorf("%w: participant %d: %d bytes, want %d", ErrCommitProof, c.Participant, n, leader.ProofSize)
	}
	if c.Round > open {
		return nil
	}
	if _, err := t.VerifyVRF(p.VrfKey, s.VRFInput()); err != nil {
		return fmt.Errorf("%w: participant %d in epoch %d round %d: %w", ErrCommitProof, c.Participant, c.Epoch, c.Round, err)
	}
	return nil
}

// checkCommitted rejects a gradient of the open round to which its sender has not committed itself
// (G8). In the commit phase checkCommitted accepts every gradient: no block takes gradients yet,
// but a faster peer may already have sent its gradient to the pool.
func (s *State) checkCommitted(t *tx.Tx) error {
	if !s.Progress.Revealing {
		return nil
	}
	if want := s.Commitment(t.Gradient.Participant); !bytes.Equal(want, t.Content[:]) {
		return fmt.Errorf("%w: participant %d, content hash %X, committed is %X", ErrNotCommitted, t.Gradient.Participant,
			t.Content[:8], want)
	}
	return nil
}

// checkRevealed rejects an aggregate in the commit phase, and in the reveal phase an aggregate that
// lists a gradient to which its sender has not committed itself (A8).
func (s *State) checkRevealed(included []tx.Included) error {
	if s.Committing() {
		return fmt.Errorf("%w: %d commitments at height %d", ErrUnrevealed, len(s.Progress.Commitments), s.Height)
	}
	if !s.Progress.Revealing {
		return nil
	}
	for _, in := range included {
		if want := s.Commitment(in.Participant); !bytes.Equal(want, in.Hash) {
			return fmt.Errorf("%w: participant %d, listed is %X, committed %X", ErrUnrevealed, in.Participant, in.Hash, want)
		}
	}
	return nil
}

// takeCommits checks a block's commitments (C1 to C7) and adds them to s.Progress. It does not check that the block
// closes no round (C5): executeTxs does. s must be a clone that only the caller uses, with the block's height.
func (s *State) takeCommits(commits []*tx.Tx) error {
	if len(commits) == 0 {
		return nil
	}
	if !s.TakesCommits(s.Height) {
		return fmt.Errorf("%w: height %d, the phase is of height %d", ErrCommitPhase, s.Height, s.Progress.Opened)
	}
	s.verifyAll(commits)
	taken := slices.Clone(s.Progress.Commitments)
	for i, t := range commits {
		if err := s.admitCommit(t); err != nil {
			return err
		}
		c := t.Commit
		if c.Round != s.Progress.Round {
			return fmt.Errorf("%w: round %d, open is %d", ErrCommit, c.Round, s.Progress.Round)
		}
		if i > 0 && c.Participant <= commits[i-1].Commit.Participant || s.Commitment(c.Participant) != nil {
			return fmt.Errorf("%w: participant %d", ErrCommits, c.Participant)
		}
		entry := Commitment{Participant: c.Participant, Hash: c.Hash, Height: s.Height}
		if !s.Progress.Revealing {
			out, _ := t.VerifyVRF(s.Participants[c.Participant].VrfKey, s.VRFInput()) // admitCommit has verified it
			entry.VrfOutput = out[:]
		}
		taken = append(taken, entry)
	}
	slices.SortFunc(taken, func(a, b Commitment) int { return cmp.Compare(a.Participant, b.Participant) })
	s.Progress.Commitments = taken
	return nil
}

// endsCommitPhase reports whether a block at the given height ends the commit phase. It does if at
// least N-f participants have a commitment, and all required participants are among them. Once
// quorum_blocks heights have passed since N-f had one, N-f commitments of any participants are enough.
func (s *State) endsCommitPhase(height uint64) bool {
	if !s.Committing() || s.isOver() {
		return false
	}
	var since []uint64 // the heights of the commitments
	missing := 0
	for i := range s.Participants {
		p := &s.Participants[i]
		if c := s.commitment(p.Index); c != nil {
			since = append(since, c.Height)
		} else if s.isRequired(p) {
			missing++
		}
	}
	least := s.Active() - s.F()
	if len(since) < least {
		return false
	}
	slices.Sort(since)
	return missing == 0 || height >= since[least-1]+s.Params.Election.QuorumBlocks
}

// beginReveal begins the reveal phase of the open round if the block at s.Height ends the commit
// phase, and reports whether it did. s must be a clone that only the caller uses.
func (s *State) beginReveal() bool {
	if !s.endsCommitPhase(s.Height) {
		return false
	}
	s.Progress.Revealing, s.Progress.Opened = true, s.Height+1
	return true
}

// openRound opens a round at the next height.
func (s *State) openRound(round uint64) {
	s.Progress.Round, s.Progress.Opened = round, s.Height+1
	s.Progress.Commitments, s.Progress.Revealing = nil, false
}

// withholders lists the participants that committed themselves in the open round and are not included. The vector of
// such a participant may be public, so the participant pays privacy budget for this round too.
func (s *State) withholders(included []tx.Included) (out []uint32) {
	participants := participantsOf(included)
	for _, c := range s.Progress.Commitments {
		if _, ok := slices.BinarySearch(participants, c.Participant); !ok {
			out = append(out, c.Participant)
		}
	}
	return out
}

// Commits picks the commitments for a block that closes no round: one for each participant that has no commitment in
// the state. The result has at most limit bytes as CometBFT counts them; zero means no limit.
func (s *State) Commits(height uint64, pending []*tx.Tx, limit int64) []*tx.Tx {
	if s.Finished() || !s.TakesCommits(height) {
		return nil
	}
	slots := make([]*tx.Tx, len(s.Participants))
	for _, t := range pending {
		c := t.Commit
		if c != nil && s.isOpen(c.Epoch, c.Round) && s.Commitment(c.Participant) == nil && s.admitCommit(t) == nil {
			slots[c.Participant] = t
		}
	}
	slots = slices.DeleteFunc(slots, func(t *tx.Tx) bool { return t == nil })
	for limit > 0 && bytesOf(slots) > limit {
		slots = slots[:len(slots)-1]
	}
	return slots
}
