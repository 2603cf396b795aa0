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
	CodeOK             uint32 = 0
	CodeMalformed      uint32 = 1
	CodeSignature      uint32 = 2
	CodeNotParticipant uint32 = 3
	CodeWrongRound     uint32 = 4
	CodePayload        uint32 = 5
	CodeProof          uint32 = 6
	CodeNotLeader      uint32 = 7
	CodeIncluded       uint32 = 8
	CodeDelta          uint32 = 9
	CodeFinished       uint32 = 10
	CodeOccupied       uint32 = 12
	CodePoolFull       uint32 = 13
	CodeIdentity       uint32 = 14
	CodeKeyTaken       uint32 = 15
	CodeProposal       uint32 = 16
	CodeInfeasible     uint32 = 17
	CodeEvidence       uint32 = 18
	CodeSettled        uint32 = 19
	CodeUnknownPath    uint32 = 20
	CodeBadQuery       uint32 = 21
	CodeNotFound       uint32 = 22
	CodeNotNow         uint32 = 23
	CodeEpoch          uint32 = 24
	CodeNorm           uint32 = 25
	CodeBudget         uint32 = 26
	CodeUpgrade        uint32 = 27
	CodeCommit         uint32 = 28
	CodeInternal       uint32 = 99
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
