package abci

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
)

// MaxPiece is the max number of bytes in a piece of a long answer. JSON encodes them in 4/3 as
// many, which a link of 1.1 Mbit/s carries in the ten seconds that CometBFT's RPC allows for an
// answer.
const MaxPiece = 1 << 20

// Long describes the whole of an answer that is sent in pieces. It is the Info of each piece, as
// JSON, and the same in all of them.
type Long struct {
	Epoch  uint64 `json:"epoch"`
	Round  uint64 `json:"round"`
	Height uint64 `json:"height"`         // of the state with these bytes
	Hash   string `json:"hash,omitempty"` // of a model or a velocity: the root over its chunks
	Bytes  int    `json:"bytes"`          // in all
}

// longPaths are the paths that are also answered in pieces, as bytes and not JSON.
var longPaths = map[string]func(a *Application, s *app.State, arg string) (Long, []byte, error){
	"model":    (*Application).longModel,
	"velocity": longVelocity,
	"kept":     (*Application).longKept,
}

// span is a requested range of bytes; to is exclusive, and 0 if absent.
type span struct{ from, to uint64 }

// readSpan reads from=A&to=B; without to, the piece has the max length.
func readSpan(text string) (sp span, err error) {
	asked, err := url.ParseQuery(text)
	if err != nil || len(asked["from"]) != 1 || len(asked["to"]) > 1 || len(asked) != 1+len(asked["to"]) {
		return sp, fmt.Errorf("%w: range %q, want from=A, or from=A&to=B", errBadQuery, text)
	}
	if sp.from, err = argument(asked.Get("from")); err != nil {
		return sp, err
	}
	if asked.Has("to") {
		if sp.to, err = argument(asked.Get("to")); err == nil && (sp.to <= sp.from || sp.to-sp.from > MaxPiece) {
			err = fmt.Errorf("%w: from byte %d to before byte %d, want at least 1 and at most %d bytes", errBadQuery, sp.from, sp.to, MaxPiece)
		}
	}
	return sp, err
}

// of returns the bytes of the range.
func (sp span) of(data []byte) ([]byte, error) {
	n := uint64(len(data))
	if sp.from >= n || sp.to > n {
		return nil, fmt.Errorf("%w: from byte %d to before byte %d, there are %d", errBadQuery, sp.from, max(sp.to, sp.from+1), n)
	}
	if sp.to == 0 {
		sp.to = min(sp.from+MaxPiece, n)
	}
	return data[sp.from:sp.to], nil
}

// queryPiece answers name/arg?range with bytes. The next block changes the current state: further
// pieces of its answers can be requested by its height while they are cached.
func (a *Application) queryPiece(req *abcitypes.RequestQuery, s *app.State, path, text string, r *abcitypes.ResponseQuery) error {
	name, arg, _ := strings.Cut(path, "/")
	build, ok := longPaths[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: %q is not answered in pieces", errUnknownPath, path)
	case req.Prove:
		return fmt.Errorf("%w: a range has no proof: chunk/{i} and chunk/{epoch}/{round}/{i} have", errBadQuery)
	}
	sp, err := readSpan(text)
	if err != nil {
		return err
	}
	key, arg, err := longKey(req, s, name, arg)
	if err != nil {
		return err
	}
	now := a.options.Now()
	l := a.longs.get(key, now)
	switch {
	case l != nil:
	case req.Height != 0 && req.Height != r.Height:
		return fmt.Errorf("%w: height %d, only the last, %d, is kept, and for a minute what a piece of was asked for", errBadQuery, req.Height, r.Height)
	default:
		if l, err = a.longs.put(key, now, func() (Long, []byte, error) { return build(a, s, arg) }); err != nil {
			return err
		}
	}
	if arg == "" {
		r.Height = int64(l.head.Height)
	}
	if r.Value, err = sp.of(l.data); err != nil {
		return err
	}
	info, err := json.Marshal(l.head)
	r.Info = string(info)
	return err
}

// longKey returns the cache key of the requested bytes, which has a height unless a closed round
// left them for good, and the argument with its epoch.
func longKey(req *abcitypes.RequestQuery, s *app.State, name, arg string) (key, full string, err error) {
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
		key += fmt.Sprintf(" at %d", s.Height) // the nearest checkpoint may change
	}
	return key, full, nil
}

func (a *Application) longModel(s *app.State, arg string) (Long, []byte, error) {
	if arg == "" {
		hash := app.ModelHash(s.Model)
		return Long{s.Progress.Epoch, s.Progress.Round, s.Height, hex.EncodeToString(hash[:]), 0}, app.EncodeParameters(s.Model), nil
	}
	epoch, t, err := roundArgument(s, arg)
	if err != nil {
		return Long{}, nil, err
	}
	r, err := a.record(s, epoch, t)
	if err != nil {
		return Long{}, nil, err
	}
	m, err := a.modelAfter(s, epoch, t)
	return Long{m.Epoch, m.Round, r.Height, m.Hash, 0}, m.Parameters, err
}

func longVelocity(_ *Application, s *app.State, arg string) (Long, []byte, error) {
	if arg != "" {
		return Long{}, nil, fmt.Errorf("%w: velocity/%s, only the velocity as it stands is kept", errBadQuery, arg)
	}
	hash := app.ModelHash(s.Velocity)
	return Long{s.Progress.Epoch, s.Progress.Round, s.Height, hex.EncodeToString(hash[:]), 0}, app.EncodeParameters(s.Velocity), nil
}

func (a *Application) longKept(s *app.State, arg string) (Long, []byte, error) {
	k, err := a.stateAfter(s, arg)
	return Long{k.Epoch, k.Round, k.Height, "", 0}, k.Document, err
}

// The cache has at most heldLongs answers, and the first block after heldFor without a request for
// an answer drops it.
const (
	heldLongs = 4
	heldFor   = time.Minute
)

// long is a cached answer.
type long struct {
	key   string
	head  Long
	data  []byte
	asked time.Time
}

// longs caches the long answers, least recently requested first, so that each is built once and not
// for every piece.
type longs struct {
	mu   sync.Mutex
	held []*long
}

// get returns a cached answer, or nil.
func (h *longs) get(key string, now time.Time) *long {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(key, now)
}

func (h *longs) find(key string, now time.Time) *long {
	for i, l := range h.held {
		if l.key == key {
			l.asked = now
			h.held = append(append(h.held[:i:i], h.held[i+1:]...), l)
			return l
		}
	}
	return nil
}

// put builds an answer and caches it. Concurrent requests wait for it, those for other answers too.
func (h *longs) put(key string, now time.Time, build func() (Long, []byte, error)) (*long, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.find(key, now); l != nil {
		return l, nil
	}
	head, data, err := build()
	if err != nil {
		return nil, err
	}
	head.Bytes = len(data)
	l := &long{key, head, data, now}
	h.held = append(h.held[max(0, len(h.held)+1-heldLongs):len(h.held):len(h.held)], l)
	return l, nil
}

// forget drops answers that were not requested lately. Committing a block does not wait while an
// answer is being built: a later block drops the old ones.
func (h *longs) forget(now time.Time) {
	if !h.mu.TryLock() {
		return
	}
	defer h.mu.Unlock()
	var kept []*long
	for _, l := range h.held {
		if now.Sub(l.asked) < heldFor {
			kept = append(kept, l)
		}
	}
	h.held = kept
}
