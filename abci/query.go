package abci

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

var (
	errUnknownPath = errors.New("unknown query path")
	errBadQuery    = errors.New("malformed query")
	errNotFound    = errors.New("not found")
)

// Limits on the bytes of a query's path and of an error text in an answer: sending long text back
// must not cost the node.
const (
	maxQueryPath = 256
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
	Seed         string   `json:"seed"` // the seed of the open round's VRF proofs
	Ranking      []uint32 `json:"ranking"`
	Participants int      `json:"participants"` // active ones, N
	Dim          int      `json:"dim"`
	Pending      int      `json:"pending"`             // gradients in this node's pool for the open round
	Phase        string   `json:"phase,omitempty"`     // with commit_reveal: committing or revealing
	Committed    int      `json:"committed,omitempty"` // commitments that the open round has taken
	Preset       string   `json:"preset,omitempty"`
	Rule         string   `json:"rule"`
	TestChain    bool     `json:"test_chain,omitempty"` // noise may be known: nothing is private
	Epsilon      *float64 `json:"epsilon"`              // the largest spend of a participant; null: no guarantee
}

// Lead is the answer to /lead/{participant}: the draft that a leader may sign, and its gradients,
// from which a worker in another process can recompute it.
type Lead struct {
	Draft     *tx.Aggregate `json:"draft"`
	Gradients [][]byte      `json:"gradients"` // transactions
}

// ModelState is the answer to /model and /model/{round}.
type ModelState struct {
	Epoch      uint64 `json:"epoch"`
	Round      uint64 `json:"round"` // rounds applied: the model is x^(round)
	Hash       string `json:"hash"`
	Parameters []byte `json:"parameters"` // float64, little endian
}

// paths are the query paths by their first segment; the argument is the rest.
// Every answer is JSON.
var paths = map[string]func(a *Application, s *app.State, arg string) (any, error){
	"status":       (*Application).queryStatus,
	"params":       func(_ *Application, s *app.State, _ string) (any, error) { return s.Params, nil },
	"progress":     func(_ *Application, s *app.State, _ string) (any, error) { return s.Progress, nil },
	"participants": queryParticipants,
	"proposals":    func(_ *Application, s *app.State, _ string) (any, error) { return nonNil(s.Proposals), nil },
	"bundle":       (*Application).queryBundle,
	"kept":         (*Application).queryKept,
	"round":        (*Application).queryRound,
	"model":        (*Application).queryModel,
	"timing":       (*Application).queryTiming,
	"refusals":     (*Application).queryRefusals,
	"lead":         (*Application).queryLead,
	"pending":      (*Application).queryPending,
	"leader":       queryLeader,
	"election":     (*Application).queryElection,
	"reputation":   queryReputation,
	"membership":   queryMembership,
	"offences":     func(_ *Application, s *app.State, _ string) (any, error) { return nonNil(s.Offences), nil },
	"evidence":     func(_ *Application, s *app.State, _ string) (any, error) { return nonNil(s.Offences), nil },
	"epochs":       queryEpochs,
	"privacy":      queryPrivacy,
	"upgrade":      (*Application).queryUpgrade,
}

// Query answers from the committed state and from this node's own pool and clock: status, params,
// progress, participants, participants/{i}, round/{t}, model, model/{t}, timing/{t}, refusals and
// refusals/{t}; lead/{participant}, the draft that a worker signs with its gradients,
// lead/{participant}/draft, the draft alone, and pending/{participant}, one gradient; leader,
// election/{t}, reputation, membership, proposals, evidence (or offences), epochs, upgrade, privacy
// and privacy/{participant}; bundle/{t} and kept/{t}, the parts of an export, and kept, the whole
// current state, which a worker in another process checks against a header. A round is {t} of the
// running epoch or {epoch}/{t}.
//
// With ?from=A&to=B behind the path a model, a state or the velocity is answered in pieces, as
// bytes: see Long.
//
// With Prove the value is not JSON but the bytes in the state's tree, the key is that of the proof,
// and the proof leads to the application hash in the header of the answer's height plus 1 (package
// proof). Params, progress, chain_id, closed, history, participants, model, velocity, proposals,
// offences and epochs have proofs, each element of a list, as participants/{i}, and chunk/{i},
// chunk/{t}/{i}, model/{t} and round/{t}.
func (a *Application) Query(_ context.Context, req *abcitypes.RequestQuery) (*abcitypes.ResponseQuery, error) {
	answer := new(abcitypes.ResponseQuery)
	if n := len(req.Path); n > maxQueryPath {
		return refusal(fmt.Errorf("%w: the path has %d bytes, at most %d", errBadQuery, n, maxQueryPath), answer), nil
	}
	if n := len(req.Data); n > 0 {
		return refusal(fmt.Errorf("%w: %d bytes of data, want none: the path says all", errBadQuery, n), answer), nil
	}
	answer.Key = []byte(req.Path)
	if err := a.query(req, answer); err != nil {
		return refusal(err, answer), nil
	}
	return answer, nil
}

// filter answers CometBFT's peer filter for an address or a node ID: nil lets it in.
func (a *Application) filter(what string) error {
	if id, ok := strings.CutPrefix(what, "id/"); ok && a.options.Admits != nil {
		return a.options.Admits(id)
	}
	if address, ok := strings.CutPrefix(what, "addr/"); ok && a.options.Opens != nil {
		return a.options.Opens(address)
	}
	return nil
}

// refusal turns an error into a query response.
func refusal(err error, answer *abcitypes.ResponseQuery) *abcitypes.ResponseQuery {
	return &abcitypes.ResponseQuery{Code: Code(err), Codespace: Codespace, Log: bounded(err.Error()), Height: answer.Height}
}

// bounded truncates a text for an answer to maxQueryLog bytes.
func bounded(text string) string {
	if len(text) > maxQueryLog {
		text = strings.ToValidUTF8(text[:maxQueryLog], "") + "..."
	}
	return text
}

// query fills in the answer to a request. A panic of the core becomes an error in the answer.
func (a *Application) query(req *abcitypes.RequestQuery, r *abcitypes.ResponseQuery) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if what, ok := strings.CutPrefix(req.Path, "/p2p/filter/"); ok {
		return a.filter(what)
	}
	s := a.state.Load()
	if s == nil {
		return errNotReady
	}
	r.Height = int64(s.Height)
	path, piece, ranged := strings.Cut(strings.Trim(req.Path, "/"), "?")
	if ranged {
		return a.queryPiece(req, s, strings.Trim(path, "/"), piece, r)
	}
	if req.Height != 0 && req.Height != r.Height {
		return fmt.Errorf("%w: height %d, only the last, %d, is kept", errBadQuery, req.Height, r.Height)
	}
	name, arg, _ := strings.Cut(path, "/")
	if req.Prove {
		key, p, err := a.prove(s, path)
		r.Value, r.Key, r.ProofOps = p.Value, []byte(key), p.Ops
		return err
	}
	answer, ok := paths[name]
	if !ok {
		return fmt.Errorf("%w: %q", errUnknownPath, req.Path)
	}
	if arg == "" && shared[name] {
		r.Value, err = a.answers.in(s, name, func() (any, error) { return answer(a, s, "") })
		return err
	}
	body, err := answer(a, s, arg)
	if err != nil {
		return err
	}
	r.Value, err = json.Marshal(body)
	return err
}

func (a *Application) queryStatus(s *app.State, _ string) (any, error) {
	hash, phase := s.Hash(), ""
	switch {
	case s.Finished() || !s.Params.Election.CommitReveal:
	case s.Committing():
		phase = "committing"
	default:
		phase = "revealing"
	}
	return Status{
		Phase: phase, Committed: len(s.Progress.Commitments),
		ChainID: s.ChainID, Height: s.Height, AppHash: hex.EncodeToString(hash[:]),
		Epoch: s.Progress.Epoch, Round: s.Progress.Round, Rounds: s.Params.Training.Rounds, Done: s.Finished(),
		Opened: s.Progress.Opened, Seed: hex.EncodeToString(s.Progress.Seed), Ranking: nonNil(s.Progress.Ranking), Participants: s.Active(), Dim: len(s.Model),
		Pending: len(a.pool.Load().look().senders()), Preset: s.Params.Preset, Rule: s.Params.Rule.Name, Epsilon: a.greatest.in(s), TestChain: app.KnownNoise(s.Params, s.Epochs),
	}, nil
}

func (a *Application) queryRound(s *app.State, arg string) (any, error) {
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return nil, err
	}
	return a.record(s, epoch, t)
}

// record loads the record of a closed round. It returns errNotFound where there is none.
func (a *Application) record(s *app.State, epoch, t uint64) (r *app.Record, err error) {
	if s.IsClosed(epoch, t) { // otherwise the database would search in vain
		r, err = a.store.Record(epoch, t)
	}
	if err == nil && r == nil {
		err = fmt.Errorf("%w: no record of epoch %d round %d, open is epoch %d round %d", errNotFound, epoch, t, s.Progress.Epoch, s.Progress.Round)
	}
	return r, err
}

func (a *Application) queryModel(s *app.State, arg string) (any, error) {
	if arg == "" {
		hash := app.ModelHash(s.Model)
		return ModelState{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Hash: hex.EncodeToString(hash[:]), Parameters: app.EncodeParameters(s.Model)}, nil
	}
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return nil, err
	}
	return a.modelAfter(s, epoch, t)
}

// modelAfter returns the model after a closed round if it is kept: those after the last rounds are,
// the final one of each epoch, and those in checkpoints.
func (a *Application) modelAfter(s *app.State, epoch, t uint64) (ModelState, error) {
	r, err := a.record(s, epoch, t)
	if err != nil {
		return ModelState{}, err
	}
	data, err := a.store.Model(epoch, t)
	if err == nil && data == nil {
		data, err = a.keptModel(r)
	}
	if err == nil && data == nil {
		err = fmt.Errorf("%w: model after epoch %d round %d, open is epoch %d round %d; kept are the last %d of the running epoch, the final one of each, and one of every %d",
			errNotFound, epoch, t, s.Progress.Epoch, s.Progress.Round, store.KeptModels, a.store.Every)
	}
	return ModelState{Epoch: epoch, Round: t + 1, Hash: hex.EncodeToString(r.ModelHash), Parameters: data}, err
}

// keptModel returns the model in the checkpoint after a round, or nil.
func (a *Application) keptModel(r *app.Record) ([]byte, error) {
	k, err := a.store.Nearest(r.Epoch, r.Round)
	if err != nil || k == nil || k.Epoch != r.Epoch || k.Round != r.Round {
		return nil, err
	}
	s, err := app.DecodeState(r.Height, k.Document)
	if err != nil {
		return nil, err
	}
	if hash := app.ModelHash(s.Model); !bytes.Equal(hash[:], r.ModelHash) {
		return nil, nil // the block started an epoch with a new model
	}
	return app.EncodeParameters(s.Model), nil
}

func (a *Application) queryTiming(s *app.State, arg string) (any, error) {
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return nil, err
	}
	timing, ok := a.timings.get(epoch, t)
	if !ok {
		return nil, fmt.Errorf("%w: no timing of epoch %d round %d, the last %d seen are kept", errNotFound, epoch, t, keptTimings)
	}
	return timing, nil
}

func (a *Application) queryLead(_ *app.State, arg string) (any, error) {
	who, alone := strings.CutSuffix(arg, "/draft")
	p, err := participant(who)
	if err != nil {
		return nil, err
	}
	v := a.pool.Load().look()
	draft, err := a.draft(p, v)
	if err != nil || alone {
		return Lead{Draft: draft}, err
	}
	listed := make(map[string]bool, len(draft.Included))
	for _, in := range draft.Included {
		listed[string(in.Hash)] = true
	}
	lead := Lead{Draft: draft}
	for _, t := range v.pending {
		if t.Gradient != nil && listed[string(t.Content[:])] {
			lead.Gradients = append(lead.Gradients, t.Raw)
		}
	}
	return lead, nil
}

func (a *Application) queryPending(_ *app.State, arg string) (any, error) {
	p, err := participant(arg)
	if err != nil {
		return nil, err
	}
	v := a.pool.Load().look()
	for _, t := range v.pending {
		if t.Gradient != nil && t.Gradient.Participant == p {
			return t.Raw, nil
		}
	}
	return nil, fmt.Errorf("%w: no gradient of participant %d in round %d is pending", errNotFound, p, v.state.Progress.Round)
}

// participant reads a participant's index.
func participant(arg string) (uint32, error) {
	p, err := argument(arg)
	if err == nil && p > 1<<32-1 {
		err = fmt.Errorf("%w: participant %d, at most %d", errBadQuery, p, uint32(1<<32-1))
	}
	return uint32(p), err
}

// roundArgument reads {round}, of the running epoch, or {epoch}/{round}.
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

// nonNil makes the JSON of an empty list [].
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func argument(arg string) (uint64, error) {
	t, err := strconv.ParseUint(arg, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is no number", errBadQuery, arg)
	}
	return t, nil
}
