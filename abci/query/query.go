package query

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/pool"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/memo"
)

var (
	ErrUnknownPath = errors.New("unknown query path")
	ErrBadQuery    = errors.New("malformed query")
	ErrNotFound    = errors.New("not found")
	// ErrNotReady means that neither InitChain nor a state sync has given the node a state.
	ErrNotReady = errors.New("this node has no state yet")
)

// These constants limit the bytes of a query's path and of an error text in an answer. Otherwise a
// client could make the node send long texts.
const (
	MaxQueryPath = 256
	maxQueryLog  = 1024
)

// Status is the answer to /status.
type Status struct {
	ChainID      string   `json:"chain_id"`
	Height       uint64   `json:"height"`
	AppHash      string   `json:"app_hash"`
	Epoch        uint64   `json:"epoch"`
	Round        uint64   `json:"round"` // the open round
	Rounds       uint64   `json:"rounds"`
	Done         bool     `json:"done"`
	Opened       uint64   `json:"opened"`
	Seed         string   `json:"seed"` // the seed in the VRF inputs of the open round
	Ranking      []uint32 `json:"ranking"`
	Participants int      `json:"participants"` // the number of active participants, N
	Dim          int      `json:"dim"`
	Pending      int      `json:"pending"`             // the number of senders of gradients (or commitments) in the pool
	Phase        string   `json:"phase,omitempty"`     // with commit_reveal: committing or revealing
	Committed    int      `json:"committed,omitempty"` // the number of the open round's commitments that are in blocks
	Preset       string   `json:"preset,omitempty"`
	Rule         string   `json:"rule"`
	TestChain    bool     `json:"test_chain,omitempty"` // whether noise may come from public seeds, so nothing is private
	// Epsilon is the largest epsilon that a participant has spent; null if an epoch has no ledger.
	Epsilon *float64 `json:"epsilon"`
	// Home is this node's declaration about its own home. Nobody can check it, and other nodes
	// declare only their own homes.
	Home *Home `json:"home,omitempty"`
}

// These are the values of Home.Trainer.
const (
	TrainerContained = "contained"
	TrainerFree      = "not contained" // worker.sandbox is "off"
)

// These are the values of Home.Signer and Home.ValidatorSigner.
const (
	SignerAnswers = "answers"
	SignerAway    = "away"
)

// A validator counts as silent after MaxSilentBlocks blocks without its vote. A shorter gap means
// nothing, because commits may lack late votes of a healthy validator.
const MaxSilentBlocks = 20

// WorkerStopped is a value of Home.Worker: the worker has ended with an error, and the validator goes on without it.
const WorkerStopped = "stopped"

// WorkerFails is a value of Home.Worker: the last attempt gave no gradient, as where the trainer failed or was late.
const WorkerFails = "no gradient"

// WorkerSlow is a value of Home.Worker: its training steps take more than half of the time for which a round waits.
const WorkerSlow = "slow"

// ValidatorPaused is a value of Home.Validator: after a restore the validator signs nothing until the chain has decided
// blocks without it.
const ValidatorPaused = "paused"

// Home is a node's declaration about its own home: the worker, its trainer and signer, and the validator.
type Home struct {
	Trainer string `json:"trainer,omitempty"` // "contained" (in the sandbox) or "not contained"; empty without a trainer
	Consent string `json:"consent,omitempty"` // "awaited", "consented" or "rejected"; empty unless worker.consent is "ask"
	Signer  string `json:"signer,omitempty"`  // SignerAnswers or SignerAway; empty if worker.signer is not set
	// ValidatorSigner is SignerAnswers or SignerAway; it is empty if priv_validator_laddr is not set.
	ValidatorSigner string `json:"validator_signer,omitempty"`
	// BlocksSinceVote is the number of blocks since the last commit with a vote of the node's validator; 0 if the
	// last commit has one, or if the participant has no validator.
	BlocksSinceVote int64  `json:"blocks_since_vote,omitempty"`
	Validator       string `json:"validator,omitempty"` // ValidatorPaused; otherwise empty
	Worker          string `json:"worker,omitempty"`    // WorkerStopped, WorkerFails, WorkerSlow or empty
	Step            string `json:"step,omitempty"`      // what a worker does for a second or more (worker.Step.Text)
	// Convicted is the offence that is on record against the participant (app.Conviction), empty if there is none.
	Convicted string `json:"convicted,omitempty"`
	// Resting is whether rounds close without waiting for the participant, because it was late.
	Resting bool `json:"resting,omitempty"`
	// RestEnds is the first round that waits again for the resting participant; nil if it does not rest, or if
	// the epoch ends before that round.
	RestEnds *uint64 `json:"rest_ends,omitempty"`
}

// IsSilent reports whether the node's validator counts as silent (MaxSilentBlocks).
func (h *Home) IsSilent() bool { return h != nil && h.BlocksSinceVote > MaxSilentBlocks }

// ModelState is the answer to /model and /model/{round}.
type ModelState struct {
	Epoch      uint64 `json:"epoch"`
	Round      uint64 `json:"round"` // the number of applied rounds: the model is x^(round)
	Hash       string `json:"hash"`
	Parameters []byte `json:"parameters"` // float64 values in little endian
}

// paths maps the first segment of a query's path to a function, which gets the rest of the path in
// arg. Every answer is JSON.
var paths = map[string]func(q *Queries, s *app.State, arg string) (any, error){
	"status":       (*Queries).queryStatus,
	"params":       func(_ *Queries, s *app.State, _ string) (any, error) { return s.Params, nil },
	"progress":     func(_ *Queries, s *app.State, _ string) (any, error) { return s.Progress, nil },
	"participants": queryParticipants,
	"proposals":    func(_ *Queries, s *app.State, _ string) (any, error) { return nonNil(s.Proposals), nil },
	"bundle":       ofRound((*Queries).bundle),
	"kept":         func(q *Queries, s *app.State, arg string) (any, error) { return q.stateAfter(s, arg) },
	"round":        ofRound((*Queries).record),
	"model":        (*Queries).queryModel,
	"timing":       ofRound((*Queries).timing),
	"refusals":     (*Queries).queryRefusals,
	"attempts":     ofRound((*Queries).attempts),
	"observed":     func(q *Queries, _ *app.State, _ string) (any, error) { return q.Pool().Observed, nil },
	"lead":         (*Queries).queryLead,
	"pending":      (*Queries).queryPending,
	"leader":       queryLeader,
	"election":     ofRound((*Queries).election),
	"reputation":   queryReputation,
	"membership":   queryMembership,
	"evidence":     func(_ *Queries, s *app.State, _ string) (any, error) { return nonNil(s.Offences), nil },
	"epochs":       queryEpochs,
	"privacy":      queryPrivacy,
	"upgrade":      (*Queries).queryUpgrade,
	"clocks":       func(q *Queries, _ *app.State, _ string) (any, error) { return nonNil(q.Host.PeerClocks()), nil },
	"connections":  (*Queries).queryConnections,
}

// ofRound returns the function of a path whose argument names a round. f gets the epoch and the round.
func ofRound[T any](f func(q *Queries, s *app.State, epoch, t uint64) (T, error)) func(*Queries, *app.State,
	string) (any, error) {
	return func(q *Queries, s *app.State, arg string) (any, error) {
		epoch, t, err := roundArgument(s, arg)
		if err != nil {
			return nil, err
		}
		return f(q, s, epoch, t)
	}
}

// TruncateLog truncates a text to maxQueryLog bytes for an answer.
func TruncateLog(text string) string {
	if len(text) > maxQueryLog {
		text = strings.ToValidUTF8(text[:maxQueryLog], "") + "..."
	}
	return text
}

// Queries answers queries from the committed state and from this node's own pool and clock.
type Queries struct {
	Store      *store.Store
	State      func() *app.State // the committed state, nil before InitChain
	Pool       func() pool.Snapshot
	Draft      func(participant uint32, v pool.Snapshot) (*tx.Aggregate, error)
	Now        func() time.Time
	Version    uint64 // the state machine version that the application executes
	Timings    *Timings
	Rejections *Rejections
	Attempts   *Attempts
	Host       Host
	Restored   func() *Restore // the progress of a state sync

	answers    *memo.Bounded[answerKey, []byte]
	ranges     *memo.Bounded[string, *cachedRange]
	maxEpsilon *memo.Bounded[*app.State, *float64]
	history    *proof.History // for the proofs of closed rounds
}

// Host is the node that answers, as far as queries are about the node itself.
type Host interface {
	Declare(*app.State) Home  // the node's declaration about its own home
	PeerClocks() []PeerClock  // the clocks of the peers
	Connections() Connections // the node's view of its peers
}

// NoHost is a Host that declares nothing and has no peers.
type NoHost struct{}

// The methods of Host.
func (NoHost) Declare(*app.State) Home  { return Home{} }
func (NoHost) PeerClocks() []PeerClock  { return nil }
func (NoHost) Connections() Connections { return Connections{} }

// answerKey is the key of a cached answer: a state, and a path in sharedPaths.
type answerKey struct {
	state *app.State
	path  string
}

// sharedPaths holds the paths whose answers grow with the number of participants and depend only on
// the committed state. Each of these answers is built once for a state.
var sharedPaths = map[string]bool{"participants": true, "privacy": true, "reputation": true, "membership": true}

// New returns a copy of q with its caches.
func New(q Queries) *Queries {
	q.answers = memo.New[answerKey, []byte](len(sharedPaths))
	q.ranges = memo.New[string, *cachedRange](maxRanges)
	q.history = new(proof.History)
	q.maxEpsilon = memo.New[*app.State, *float64](1)
	return &q
}

// Catch, if it is deferred, turns a panic of a function into its error.
func Catch(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

// Answer fills in the response to a request. It turns a panic into an error.
func (q *Queries) Answer(req *abcitypes.RequestQuery, r *abcitypes.ResponseQuery) (err error) {
	defer Catch(&err)
	s := q.State()
	if s == nil {
		return q.answerEarly(req, r)
	}
	r.Height = int64(s.Height)
	path, piece, ranged := strings.Cut(strings.Trim(req.Path, "/"), "?")
	if ranged {
		return q.queryRange(req, s, strings.Trim(path, "/"), piece, r)
	}
	if req.Height != 0 && req.Height != r.Height {
		return fmt.Errorf("%w: height %d, only the last, %d, is kept", ErrBadQuery, req.Height, r.Height)
	}
	name, arg, _ := strings.Cut(path, "/")
	if req.Prove {
		key, p, err := q.prove(s, path)
		r.Value, r.Key, r.ProofOps = p.Value, []byte(key), p.Ops
		return err
	}
	answer, ok := paths[name]
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnknownPath, req.Path)
	}
	if arg == "" && sharedPaths[name] {
		r.Value, err = q.answers.Get(answerKey{s, name}, func() ([]byte, error) { return encode(answer(q, s, "")) })
		return err
	}
	r.Value, err = encode(answer(q, s, arg))
	return err
}

// encode encodes an answer as JSON, or returns err.
func encode(body any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

func (q *Queries) queryStatus(s *app.State, _ string) (any, error) {
	hash, phase := s.Hash(), ""
	switch {
	case s.Finished() || !s.Params.Election.CommitReveal:
	case s.Committing():
		phase = "committing"
	default:
		phase = "revealing"
	}
	return Status{
		Home: q.declaration(s), Phase: phase, Committed: len(s.Progress.Commitments),
		ChainID: s.ChainID, Height: s.Height, AppHash: hex.EncodeToString(hash[:]),
		Epoch: s.Progress.Epoch, Round: s.Progress.Round, Rounds: s.Params.Training.Rounds, Done: s.Finished(),
		Opened: s.Progress.Opened, Seed: hex.EncodeToString(s.Progress.Seed), Ranking: nonNil(s.Progress.Ranking),
		Participants: s.Active(), Dim: len(s.Model),
		Pending: len(q.Pool().Senders()), Preset: s.Params.Preset, Rule: s.Params.Rule.Name, Epsilon: q.MaxEpsilon(s),
		TestChain: app.KnownNoise(s.Params, s.Epochs),
	}, nil
}

// declaration returns the node's declaration about its home, or nil.
func (q *Queries) declaration(s *app.State) *Home {
	h := q.Host.Declare(s)
	if h == (Home{}) {
		return nil
	}
	return &h
}

// record loads the record of a closed round. It fails with ErrNotFound if the store does not have the record.
func (q *Queries) record(s *app.State, epoch, t uint64) (r *app.Record, err error) {
	if s.IsClosed(epoch, t) { // a search for any other round would find nothing
		r, err = q.Store.Record(epoch, t)
	}
	if err == nil && r == nil {
		err = fmt.Errorf("%w: no record of epoch %d round %d, %s", ErrNotFound, epoch, t, openRound(s))
	}
	return r, err
}

// openRound returns a text that tells an operator which round is open.
func openRound(s *app.State) string {
	if s.Finished() {
		return fmt.Sprintf("epoch %d is finished: it has the rounds 0 to %d", s.Progress.Epoch, s.Progress.Round-1)
	}
	return fmt.Sprintf("open is epoch %d round %d", s.Progress.Epoch, s.Progress.Round)
}

func (q *Queries) timing(_ *app.State, epoch, t uint64) (timing Timing, err error) {
	timing, ok := q.Timings.Get(epoch, t)
	if !ok {
		err = fmt.Errorf("%w: no timing of epoch %d round %d, the last %d seen are kept", ErrNotFound, epoch, t, maxTimings)
	}
	return timing, err
}

// participant parses the index of a participant.
func participant(arg string) (uint32, error) {
	p, err := argument(arg)
	if err == nil && p > 1<<32-1 {
		err = fmt.Errorf("%w: participant %d, at most %d", ErrBadQuery, p, uint32(1<<32-1))
	}
	return uint32(p), err
}

// roundArgument parses {round}, which is in the running epoch, or {epoch}/{round}.
func roundArgument(s *app.State, arg string) (epoch, round uint64, err error) {
	first, second, both := strings.Cut(arg, "/")
	if !both {
		round, err = argument(first)
		return s.Progress.Epoch, round, err
	}
	if epoch, err = argument(first); err == nil {
		round, err = argument(second)
	}
	return epoch, round, err
}

// nonNil replaces a nil list by an empty list, so that its JSON is [] and not null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func argument(arg string) (uint64, error) {
	t, err := strconv.ParseUint(arg, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is no number", ErrBadQuery, arg)
	}
	return t, nil
}
