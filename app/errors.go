package app

import (
	"errors"
	"regexp"
	"strings"
)

// These errors stand for the validity rules of SPEC.md. The error of every rejection wraps one of these errors.
var (
	ErrWrongRound     = errors.New("G1: gradient is not for the open round")
	ErrNotParticipant = errors.New("G2: sender is not an active participant")
	ErrPayload        = errors.New("G3: payload is not a vector of the grid")
	ErrGradientSigned = errors.New("G4: gradient is not signed by its sender")
	ErrProof          = errors.New("G5: VRF proof is not valid")
	ErrNorm           = errors.New("G6: norm is not that of a vector with the chain's noise")
	ErrBudget         = errors.New("G7: privacy budget is spent")

	ErrAggregateRound  = errors.New("A1: aggregate is not for the open round")
	ErrNotLeader       = errors.New("A2: signer may not lead in this view")
	ErrViewClosed      = errors.New("A3: view is not open at this height")
	ErrIncluded        = errors.New("A4: included set is not well-formed")
	ErrTooFewIncluded  = errors.New("A5: included set is too small at this height")
	ErrAggregateSigned = errors.New("A6: aggregate is not signed by its leader")
	ErrDeltaForm       = errors.New("A7: Delta is not in the form that the tolerance asks for")
	ErrUnrevealed      = errors.New("A8: round takes no aggregate before its commitments, and no gradients beside them")

	ErrNotCommitted = errors.New("G8: gradient is not the one that its sender committed itself to")
	ErrObservations = errors.New("G9: observations do not name registered participants in increasing order")

	ErrCommit       = errors.New("C1: no commitment can be made for this round")
	ErrCommitHash   = errors.New("C2: commitment has no hash")
	ErrCommitSender = errors.New("C3: sender is not an active participant with budget")
	ErrCommitSigned = errors.New("C4: commitment is not signed by its sender")
	ErrCommitPhase  = errors.New("C5: block may not carry commitments")
	ErrCommits      = errors.New("C6: commitments of the block are not in order, or made already")
	ErrCommitProof  = errors.New("C7: VRF proof of the commitment is not valid")

	ErrIdentity        = errors.New("M1: keys or names are not well-formed or not proven")
	ErrKeyTaken        = errors.New("M2: key is taken")
	ErrSender          = errors.New("M3: not an active participant")
	ErrOperationSigned = errors.New("M4: transaction is not signed by its sender")
	ErrProposal        = errors.New("M5: proposal cannot be made, approved or withdrawn")
	ErrInfeasible      = errors.New("M6: the consortium cannot have this size")

	ErrNonce   = errors.New("M8: nonce is not above the sender's last")
	ErrRevoked = errors.New("M9: revocations are not those of the sender")

	ErrEvidence       = errors.New("E1: no equivocation of an active participant")
	ErrEvidenceSigned = errors.New("E2: statements are not both signed by the participant")
	ErrSettled        = errors.New("E3: offence is punished or settled")

	ErrEpoch       = errors.New("P1: not the next epoch")
	ErrEpochParams = errors.New("P2: parameters of the epoch are not valid")

	ErrUpgrade        = errors.New("U1: name of the upgrade is not well-formed")
	ErrUpgradeVersion = errors.New("U2: version or height of the upgrade is not ahead")
	ErrNoPlan         = errors.New("U3: no such upgrade is planned")

	ErrOrder      = errors.New("B1: transactions of the block are not in order")
	ErrMismatch   = errors.New("B2: gradients of the block are not those of the aggregate")
	ErrTolerance  = errors.New("B3: Delta is outside the tolerance")
	ErrFinished   = errors.New("B4: training is finished")
	ErrHeight     = errors.New("B5: height does not follow the state's")
	ErrTooMany    = errors.New("B6: too many operations")
	ErrVersion    = errors.New("B7: height is of another version of the state machine")
	ErrGenesis    = errors.New("invalid genesis")
	ErrNotClosing = errors.New("round cannot be closed yet")
)

// SplitRule splits the text of an error into the number of the violated rule of SPEC.md and the rest. The number
// is "" if the text does not begin with one.
func SplitRule(text string) (rule, rest string) {
	rule, rest, found := strings.Cut(text, ": ")
	if !found || !ruleNumber.MatchString(rule) {
		return "", text
	}
	return rule, rest
}

// ruleNumber matches the number of a rule in SPEC.md.
var ruleNumber = regexp.MustCompile(`^[A-Z]\d{1,2}$`)
