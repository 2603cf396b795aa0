package query

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
)

// MaxRange is the max number of bytes in a piece of a long answer. JSON encodes a piece in 4/3 of
// that number, which a link of 1.1 Mbit/s transfers in the ten seconds that CometBFT's RPC allows.
const MaxRange = 1 << 20

// RangeInfo describes a whole answer that is sent in pieces. Every piece has the same RangeInfo in
// its field Info, as JSON.
type RangeInfo struct {
	Epoch  uint64 `json:"epoch"`
	Round  uint64 `json:"round"`
	Height uint64 `json:"height"`         // the height of the state that the answer is about
	Hash   string `json:"hash,omitempty"` // the root over the chunks of a model or a velocity; empty for a state
	Bytes  int    `json:"bytes"`          // the length of the whole answer in bytes
}

// rangePaths maps the paths that are also answered in pieces, as bytes and not JSON, to their functions.
var rangePaths = map[string]func(q *Queries, s *app.State, arg string) (RangeInfo, []byte, error){
	"model":    (*Queries).rangeModel,
	"velocity": rangeVelocity,
	"kept":     (*Queries).rangeKept,
}

// byteRange is a requested range of bytes, from begin up to but not including end. If the request has no end, end is 0.
type byteRange struct{ begin, end uint64 }

// readByteRange parses from=A&to=B. If there is no to=B, the piece has the max length.
func readByteRange(text string) (sp byteRange, err error) {
	asked, err := url.ParseQuery(text)
	if err != nil || len(asked["from"]) != 1 || len(asked["to"]) > 1 || len(asked) != 1+len(asked["to"]) {
		return sp, fmt.Errorf("%w: range %q, want from=A, or from=A&to=B", ErrBadQuery, text)
	}
	if sp.begin, err = argument(asked.Get("from")); err != nil {
		return sp, err
	}
	if asked.Has("to") {
		if sp.end, err = argument(asked.Get("to")); err == nil && (sp.end <= sp.begin || sp.end-sp.begin > MaxRange) {
			err = fmt.Errorf("%w: from byte %d to before byte %d, want at least 1 and at most %d bytes", ErrBadQuery, sp.begin,
				sp.end, MaxRange)
		}
	}
	return sp, err
}

// slice returns the bytes of data in the range.
func (sp byteRange) slice(data []byte) ([]byte, error) {
	n := uint64(len(data))
	if sp.begin >= n || sp.end > n {
		return nil, fmt.Errorf("%w: from byte %d to before byte %d, there are %d", ErrBadQuery, sp.begin,
			max(sp.end, sp.begin+1), n)
	}
	return data[sp.begin:cmp.Or(sp.end, min(sp.begin+MaxRange, n))], nil
}

// queryRange answers name/arg?range with bytes. An answer from the current state changes with the next block, so a
// client requests further pieces at the height of the first piece, while that answer is cached.
func (q *Queries) queryRange(req *abcitypes.RequestQuery, s *app.State, path, text string,
	r *abcitypes.ResponseQuery) error {
	name, arg, _ := strings.Cut(path, "/")
	build, ok := rangePaths[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: %q is not answered in pieces", ErrUnknownPath, path)
	case req.Prove:
		return fmt.Errorf("%w: a range has no proof: chunk/{i} and chunk/{epoch}/{round}/{i} have", ErrBadQuery)
	}
	sp, err := readByteRange(text)
	if err != nil {
		return err
	}
	key, arg, err := rangeKey(req, s, name, arg)
	if err != nil {
		return err
	}
	l, err := q.ranges.Get(key, func() (*cachedRange, error) {
		if req.Height != 0 && req.Height != r.Height {
			return nil, fmt.Errorf("%w: height %d, only the last, %d, is kept, and for a minute what a piece of was asked for",
				ErrBadQuery, req.Height, r.Height)
		}
		head, data, err := build(q, s, arg)
		head.Bytes = len(data)
		return &cachedRange{head: head, data: data}, err
	})
	if err != nil {
		return err
	}
	l.lastRequest.Store(q.Now().UnixNano())
	if arg == "" {
		r.Height = int64(l.head.Height)
	}
	if r.Value, err = sp.slice(l.data); err != nil {
		return err
	}
	info, err := json.Marshal(l.head)
	r.Info = string(info)
	return err
}

// rangeKey returns the cache key of the requested answer, and the argument in the form {epoch}/{round}. If the answer
// belongs to a closed round, it never changes, and the key has no height. Any other key has a height.
func rangeKey(req *abcitypes.RequestQuery, s *app.State, name, arg string) (key, full string, err error) {
	if arg == "" {
		height := s.Height
		if req.Height > 0 {
			height = uint64(req.Height)
		}
		return fmt.Sprintf("%s at %d", name, height), "", nil
	}
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return "", "", err
	}
	full = fmt.Sprintf("%d/%d", epoch, t)
	key = name + "/" + full
	if !s.IsClosed(epoch, t) {
		key += fmt.Sprintf(" at %d", s.Height) // the next block may write a newer checkpoint
	}
	return key, full, nil
}

func (q *Queries) rangeModel(s *app.State, arg string) (RangeInfo, []byte, error) {
	if arg == "" {
		hash := app.ModelHash(s.Model)
		return RangeInfo{s.Progress.Epoch, s.Progress.Round, s.Height, hex.EncodeToString(hash[:]), 0},
			app.EncodeParameters(s.Model), nil
	}
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return RangeInfo{}, nil, err
	}
	r, err := q.record(s, epoch, t)
	if err != nil {
		return RangeInfo{}, nil, err
	}
	m, err := q.modelAfter(s, epoch, t)
	return RangeInfo{m.Epoch, m.Round, r.Height, m.Hash, 0}, m.Parameters, err
}

func rangeVelocity(_ *Queries, s *app.State, arg string) (RangeInfo, []byte, error) {
	if arg != "" {
		return RangeInfo{}, nil, fmt.Errorf("%w: velocity/%s, only the velocity as it stands is kept", ErrBadQuery, arg)
	}
	hash := app.ModelHash(s.Velocity)
	return RangeInfo{s.Progress.Epoch, s.Progress.Round, s.Height, hex.EncodeToString(hash[:]), 0},
		app.EncodeParameters(s.Velocity), nil
}

func (q *Queries) rangeKept(s *app.State, arg string) (RangeInfo, []byte, error) {
	k, err := q.stateAfter(s, arg)
	return RangeInfo{k.Epoch, k.Round, k.Height, "", 0}, k.Document, err
}

// The cache holds at most maxRanges answers. After each block Prune drops the answers that were not
// requested for rangeIdle.
const (
	maxRanges = 4
	rangeIdle = time.Minute
)

// cachedRange is a cached answer. It is built once for all its pieces.
type cachedRange struct {
	head        RangeInfo
	data        []byte
	lastRequest atomic.Int64 // the time of the last request in nanoseconds
}

// Prune drops the answers that were not requested for rangeIdle. Commit calls it.
func (q *Queries) Prune() {
	since := q.Now().Add(-rangeIdle).UnixNano()
	q.ranges.Retain(func(_ string, l *cachedRange) bool { return l.lastRequest.Load() > since })
}
