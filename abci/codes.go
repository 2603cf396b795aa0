package abci

import (
	"errors"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Codespace is the namespace of the result codes.
const Codespace = "spdl"

// A client posts 1 to MaxTxs transactions in one request to TxsPath, on the port of the RPC, as a
// tendermint.mempool.Txs. The answer has a tendermint.abci.Response for each, in order, with its
// length before it, as on an ABCI socket: check_tx is CheckTx's verdict, and exception is the error
// of the mempool. Both bodies have the content type TxsType.
const (
	TxsPath = "/txs"
	TxsType = "application/x-protobuf"
	MaxTxs  = 64
)

// These are the result codes of CheckTx and Query. Zero is success. A code is never reused.
const (
	CodeOK             uint32 = 0  // good
	CodeMalformed      uint32 = 1  // malformed, not canonical, of unknown kind, or above 40 KiB
	CodeSignature      uint32 = 2  // signature is not valid
	CodeNotParticipant uint32 = 3  // sender or subject is not an active participant
	CodeWrongRound     uint32 = 4  // wrong epoch or round
	CodePayload        uint32 = 5  // payload is not a vector of the grid
	CodeProof          uint32 = 6  // VRF proof is not valid
	CodeNotLeader      uint32 = 7  // signer may not lead
	CodeIncluded       uint32 = 8  // included set is malformed or too small
	CodeDelta          uint32 = 9  // Delta has the wrong form, or is off by more than the tolerance
	CodeFinished       uint32 = 10 // training is finished
	CodeOccupied       uint32 = 12 // another transaction already has that place in the pool
	CodePoolFull       uint32 = 13 // the pool is full
	CodeIdentity       uint32 = 14 // keys or names are malformed or not proven
	CodeKeyTaken       uint32 = 15 // key is taken
	CodeProposal       uint32 = 16 // proposal cannot be made, approved or withdrawn
	CodeInfeasible     uint32 = 17 // the consortium cannot have this size
	CodeEvidence       uint32 = 18 // evidence shows no equivocation
	CodeSettled        uint32 = 19 // offence is punished or settled
	CodeUnknownPath    uint32 = 20 // unknown query path
	CodeBadQuery       uint32 = 21 // malformed query
	CodeNotFound       uint32 = 22 // not found
	CodeNotNow         uint32 = 23 // not now: the view is not open, or the round cannot be closed yet
	CodeEpoch          uint32 = 24 // not the next epoch, or its parameters are not valid
	CodeNorm           uint32 = 25 // norm is not that of a vector with the chain's noise
	CodeBudget         uint32 = 26 // privacy budget is spent
	CodeUpgrade        uint32 = 27 // invalid upgrade, or a height of another version
	CodeCommit         uint32 = 28 // a commitment that the round does not take, or another gradient than the committed one
	CodeInternal       uint32 = 99 // internal
)

// codeOf maps errors to result codes. Code uses the first entry whose error matches.
var codeOf = []struct {
	err  error
	code uint32
}{
	{tx.ErrMalformed, CodeMalformed},
	{tx.ErrNotCanonical, CodeMalformed},
	{tx.ErrUnknownKind, CodeMalformed},
	{tx.ErrSignature, CodeSignature},
	{app.ErrNotParticipant, CodeNotParticipant},
	{app.ErrWrongRound, CodeWrongRound},
	{app.ErrAggregateRound, CodeWrongRound},
	{app.ErrPayload, CodePayload},
	{app.ErrProof, CodeProof},
	{app.ErrNorm, CodeNorm},
	{app.ErrBudget, CodeBudget},
	{app.ErrViewClosed, CodeNotNow},
	{app.ErrNotClosing, CodeNotNow},
	{app.ErrNotLeader, CodeNotLeader},
	{app.ErrIncluded, CodeIncluded},
	{app.ErrTooFewIncluded, CodeIncluded},
	{app.ErrDeltaForm, CodeDelta},
	{app.ErrTolerance, CodeDelta},
	{app.ErrFinished, CodeFinished},
	{app.ErrIdentity, CodeIdentity},
	{app.ErrKeyTaken, CodeKeyTaken},
	{app.ErrSender, CodeNotParticipant},
	{app.ErrProposal, CodeProposal},
	{app.ErrNonce, CodeProposal},
	{app.ErrRevoked, CodeProposal},
	{app.ErrInfeasible, CodeInfeasible},
	{app.ErrEvidence, CodeEvidence},
	{app.ErrSettled, CodeSettled},
	{app.ErrEpoch, CodeEpoch},
	{app.ErrEpochParams, CodeEpoch},
	{app.ErrUpgrade, CodeUpgrade},
	{app.ErrUpgradeVersion, CodeUpgrade},
	{app.ErrNoPlan, CodeUpgrade},
	{app.ErrVersion, CodeUpgrade},
	{app.ErrNotCommitted, CodeCommit},
	{app.ErrObservations, CodeMalformed},
	{app.ErrCommitProof, CodeProof},
	{app.ErrUnrevealed, CodeCommit},
	{app.ErrCommit, CodeCommit},
	{app.ErrCommitHash, CodeCommit},
	{app.ErrCommitSender, CodeNotParticipant},
	{app.ErrCommitSigned, CodeSignature},
	{pool.ErrOccupied, CodeOccupied},
	{pool.ErrFull, CodePoolFull},
	{pool.ErrTooLarge, CodeMalformed},
	{query.ErrUnknownPath, CodeUnknownPath},
	{query.ErrBadQuery, CodeBadQuery},
	{query.ErrNotFound, CodeNotFound},
}

// Code returns the result code of an error.
func Code(err error) uint32 {
	if err == nil {
		return CodeOK
	}
	for _, c := range codeOf {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return CodeInternal
}

// codeNames are the names of the codes in metrics and texts.
var codeNames = map[uint32]string{
	CodeOK: "ok", CodeMalformed: "malformed", CodeSignature: "signature", CodeNotParticipant: "not_participant",
	CodeWrongRound: "wrong_round", CodePayload: "payload", CodeProof: "proof", CodeNotLeader: "not_leader",
	CodeIncluded: "included", CodeDelta: "delta", CodeFinished: "finished", CodeOccupied: "occupied",
	CodePoolFull: "pool_full", CodeIdentity: "identity", CodeKeyTaken: "key_taken", CodeProposal: "proposal",
	CodeInfeasible: "infeasible", CodeEvidence: "evidence", CodeSettled: "settled", CodeUnknownPath: "unknown_path",
	CodeBadQuery: "bad_query", CodeNotFound: "not_found", CodeNotNow: "not_now", CodeEpoch: "epoch", CodeNorm: "norm",
	CodeBudget: "budget", CodeUpgrade: "upgrade", CodeCommit: "commit", CodeInternal: "internal",
}

// CodeName returns the name of a code.
func CodeName(code uint32) string {
	if name, ok := codeNames[code]; ok {
		return name
	}
	return "unknown"
}
