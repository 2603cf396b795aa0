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

// MaxPiece bounds the bytes of a piece of a long answer. In JSON it has 4/3 of them, which a link
// of 1.1 Mbit/s carries in the ten seconds that CometBFT's RPC gives an answer.
const MaxPiece = 1 << 20

// Long is what an answer in pieces says of the bytes that it is a piece of. It is the answer's
// Info, as JSON, and the same in all pieces.
type Long struct {
	Epoch  uint64 `json:"epoch"`
	Round  uint64 `json:"round"`
	Height uint64 `json:"height"`         // of the state that the bytes are of
	Hash   string `json:"hash,omitempty"` // of a model or a velocity: the root over its chunks
	Bytes  int    `json:"bytes"`          // in all
}

// longPaths are the paths that are also answered in pieces, as bytes and not JSON.
var longPaths = map[string]func(a *Application, s *app.State, arg string) (Long, []byte, error){
	"model":    (*Application).longModel,
	"velocity": longVelocity,
	"kept":     (*Application).longKept,
}

// span is a range of bytes that is asked for.
type span struct{ from, to uint64 }

// readSpan reads from=A&to=B; without to, the piece is as long as one may be.
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

// queryPiece answers name/arg?range with bytes. The state as it stands, which the next block
// changes, can be asked on for by its height for as long as it is held.
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

// longKey names the bytes that are asked for: what a closed round left for good, and what stands
// now with the height. It returns the argument with its epoch.
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
		key += fmt.Sprintf(" at %d", s.Height) // the nearest that is kept may change
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

// The long answers that are held are bounded in number, and one that nobody asked for in a while
// goes with the next block.
const (
	heldLongs = 4
	heldFor   = time.Minute
)

// long is one that pieces are asked of.
type long struct {
	key   string
	head  Long
	data  []byte
	asked time.Time
}

// longs are the long answers that pieces were asked of last, in that order: each is made once and
// not for every piece.
type longs struct {
	mu   sync.Mutex
	held []*long
}

// get returns a held answer, or nil.
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

// put makes an answer and holds it. Who asks for another at the same time waits for it.
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

// forget drops what nobody has asked for lately. Committing a block does not wait for an answer
// that is being made: a later block drops it.
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
