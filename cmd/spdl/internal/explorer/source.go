package explorer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	ctypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
)

// Asker answers the application's query paths. *client.Client is one.
type Asker interface {
	Query(ctx context.Context, path string, answer any) error
}

// Blocks is the part of CometBFT's RPC that the explorer reads.
type Blocks interface {
	BlockchainInfo(ctx context.Context, minHeight, maxHeight int64) (*ctypes.ResultBlockchainInfo, error)
	Block(ctx context.Context, height *int64) (*ctypes.ResultBlock, error)
	BlockByHash(ctx context.Context, hash []byte) (*ctypes.ResultBlock, error)
	BlockResults(ctx context.Context, height *int64) (*ctypes.ResultBlockResults, error)
	Tx(ctx context.Context, hash []byte, prove bool) (*ctypes.ResultTx, error)
	Commit(ctx context.Context, height *int64) (*ctypes.ResultCommit, error)
	Validators(ctx context.Context, height *int64, page, perPage *int) (*ctypes.ResultValidators, error)
}

var (
	errNotFound = errors.New("not found")
	errBad      = errors.New("malformed request")
)

// A source reads the chain and caches what cannot change any more.
type source struct {
	asker  Asker
	blocks Blocks

	mu      sync.Mutex
	records *kept[place, *app.Record]
	models  *kept[place, *abci.ModelState]
	commits *kept[int64, map[string]bool]
	people  []app.Participant
	read    time.Time // when people were
}

// place is a round of an epoch.
type place struct{ epoch, round uint64 }

func (p place) String() string {
	return strconv.FormatUint(p.epoch, 10) + "/" + strconv.FormatUint(p.round, 10)
}

// The bounds of the cache: the number of contributions in records, of parameters in models (16
// MiB), and of signatures in commits.
const keptContributions, keptParameters, keptSignatures = 200_000, 2 << 20, 100_000

func newSource(a Asker, b Blocks) *source {
	s := &source{asker: a, blocks: b}
	s.forget()
	return s
}

// forget empties the cache: the node now belongs to another chain.
func (s *source) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = newKept[place, *app.Record](keptContributions)
	s.models = newKept[place, *abci.ModelState](keptParameters)
	s.commits = newKept[int64, map[string]bool](keptSignatures)
	s.people = nil
}

func ask[T any](ctx context.Context, s *source, path string) (answer T, err error) {
	err = s.asker.Query(ctx, path, &answer)
	return answer, err
}

func (s *source) status(ctx context.Context) (abci.Status, error) {
	return ask[abci.Status](ctx, s, "/status")
}

// record returns the record of a closed round. Callers must not change it.
func (s *source) record(ctx context.Context, at place) (*app.Record, error) {
	s.mu.Lock()
	r, ok := s.records.get(at)
	s.mu.Unlock()
	if ok {
		return r, nil
	}
	got, err := ask[app.Record](ctx, s, "/round/"+at.String())
	if err != nil {
		return nil, err
	}
	if got.Epoch != at.epoch || got.Round != at.round {
		return nil, fmt.Errorf("asked for round %v, the node answers %d/%d", at, got.Epoch, got.Round)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records.put(at, &got, 1+len(got.Contributions))
	return &got, nil
}

// model returns the model after a closed round. Callers must not change it.
func (s *source) model(ctx context.Context, at place) (*abci.ModelState, error) {
	s.mu.Lock()
	m, ok := s.models.get(at)
	s.mu.Unlock()
	if ok {
		return m, nil
	}
	got, err := ask[abci.ModelState](ctx, s, "/model/"+at.String())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models.put(at, &got, 1+len(got.Parameters)/8)
	return &got, nil
}

// participants returns the participants as they were at most a second ago. Callers must not change
// them.
func (s *source) participants(ctx context.Context) ([]app.Participant, error) {
	s.mu.Lock()
	people, fresh := s.people, s.people != nil && time.Since(s.read) < time.Second
	s.mu.Unlock()
	if fresh {
		return people, nil
	}
	people, err := ask[[]app.Participant](ctx, s, "/participants")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people, s.read = people, time.Now()
	return people, nil
}

// roundsOf returns how many rounds of an epoch are closed.
func (s *source) roundsOf(ctx context.Context, epoch uint64) (uint64, error) {
	epochs, err := ask[[]abci.EpochState](ctx, s, "/epochs")
	if err != nil {
		return 0, err
	}
	for _, e := range epochs {
		if e.Epoch == epoch {
			return e.Rounds, nil
		}
	}
	return 0, nil
}

// ledger returns the participants and how many rounds of which epoch were closed when they were
// read: two queries, so that a round may close between them. After three failed tries ok is false.
func (s *source) ledger(ctx context.Context) (people []app.Participant, closed place, ok bool, err error) {
	for range 3 {
		before, err := s.status(ctx)
		if err != nil {
			return nil, closed, false, err
		}
		if people, err = ask[[]app.Participant](ctx, s, "/participants"); err != nil {
			return nil, closed, false, err
		}
		after, err := s.status(ctx)
		if err != nil {
			return nil, closed, false, err
		}
		closed = place{after.Epoch, after.Round}
		if before.Epoch == after.Epoch && before.Round == after.Round {
			return people, closed, true, nil
		}
	}
	return people, closed, false, nil
}

// absent reports whether an error means that the node does not have the thing asked for, rather
// than that it did not answer.
func absent(err error) bool {
	var refusal *client.Refusal
	var answer *rpctypes.RPCError
	return errors.Is(err, errNotFound) || errors.As(err, &answer) ||
		errors.As(err, &refusal) && (refusal.Code == abci.CodeNotFound || refusal.Code == abci.CodeBadQuery || refusal.Code == abci.CodeUnknownPath)
}
