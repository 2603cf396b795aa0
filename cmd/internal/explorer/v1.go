package explorer

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// api registers the paths of /v1. assets/openapi.json describes them.
func (s *Server) api(mux *http.ServeMux) {
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"/v1/status": s.answerStatus,
		"/v1/params": func(r *http.Request) (any, error) {
			return known[params.Params](r.Context(), s.source,
				"/params")
		},
		"/v1/privacy": s.answerPrivacy,
		"/v1/epochs": func(r *http.Request) (any, error) {
			return known[[]query.EpochState](r.Context(),
				s.source, "/epochs")
		},
		"/v1/rounds":                 s.answerRounds,
		"/v1/rounds/{round}":         s.answerRound,
		"/v1/rounds/{epoch}/{round}": s.answerRound,
		"/v1/participants":           s.answerParticipants,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			text, err := s.once(r, func(r *http.Request) ([]byte, error) {
				body, err := answer(r)
				if err != nil {
					return nil, err
				}
				return textOf(body)
			})
			if err != nil {
				s.fail(w, r, err)
				return
			}
			writeText(w, http.StatusOK, text)
		})
	}
	mux.HandleFunc("/v1/models/{round}", s.answerModel)
	mux.HandleFunc("/v1/models/{epoch}/{round}", s.answerModel)
	mux.HandleFunc("/v1/events", s.events)
	mux.HandleFunc("/v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		body, err := assets.ReadFile("assets/openapi.json")
		if err != nil {
			panic(err) // it is embedded
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

// textOf returns a value as JSON. encoding/json escapes <, > and &, and unprintable characters are
// escaped too: the answer is safe to display.
func textOf(value any) ([]byte, error) {
	body, err := json.Marshal(value)
	return append(visible(body, forJSON), '\n'), err
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, code int, value any) {
	text, err := textOf(value)
	if err != nil {
		http.Error(w, `{"error":"the answer cannot be written"}`, http.StatusInternalServerError)
		return
	}
	writeText(w, code, text)
}

func writeText(w http.ResponseWriter, code int, json []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(json)))
	w.WriteHeader(code)
	_, _ = w.Write(json)
}

func (s *Server) answerStatus(r *http.Request) (any, error) {
	status, err := known[query.Status](r.Context(), s.source, "/status")
	status.Ranking = first(status.Ranking)
	return status, err
}

// answerRounds returns the last ?limit= rounds of the history, by default 100, oldest first.
func (s *Server) answerRounds(r *http.Request) (any, error) {
	limit := uint64(100)
	if q := r.URL.Query().Get("limit"); q != "" {
		var err error
		if limit, err = number("limit", q); err != nil {
			return nil, err
		}
	}
	if limit > keptPoints {
		return nil, fmt.Errorf("%w: limit %d, at most %d rounds", errBad, limit, keptPoints)
	}
	_, _, points, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	out := []Point{}
	for _, p := range points[max(0, len(points)-int(limit)):] {
		out = append(out, p.brief())
	}
	return out, nil
}

// roundAsked parses {round}, of the running epoch, or {epoch}/{round}; "latest" is the last closed
// round.
func (s *Server) roundAsked(r *http.Request) (at params.RoundID, err error) {
	if r.PathValue("epoch") != "" {
		return placeOf(r)
	}
	status, err := known[query.Status](r.Context(), s.source, "/status")
	if err != nil {
		return at, err
	}
	at.Epoch = status.Epoch
	if r.PathValue("round") != "latest" {
		at.Round, err = number("round", r.PathValue("round"))
		return at, err
	}
	if status.Round == 0 {
		return at, fmt.Errorf("%w: no round of epoch %d is closed", errNotFound, status.Epoch)
	}
	at.Round = status.Round - 1
	return at, nil
}

func (s *Server) answerRound(r *http.Request) (any, error) {
	at, err := s.roundAsked(r)
	if err != nil {
		return nil, err
	}
	story, err := s.story(r.Context(), at)
	if err != nil {
		return nil, err
	}
	story.Ranking = first(story.Ranking)
	story.Verdicts, err = windowOf(r, story.Verdicts, func(v Verdict) uint32 { return v.Participant })
	return story, err
}

func (s *Server) answerPrivacy(r *http.Request) (any, error) {
	all, err := known[[]query.Spend](r.Context(), s.source, "/privacy")
	if err != nil {
		return nil, err
	}
	return windowOf(r, all, func(x query.Spend) uint32 { return x.Participant })
}

// mostPeople is the max number of participants in an answer, usualPeople the default without
// ?limit=.
const mostPeople, usualPeople = 1000, 100

// windowOf returns the part of a list by participant selected by ?limit= and ?from=, a
// participant's number.
func windowOf[T any](r *http.Request, list []T, index func(T) uint32) ([]T, error) {
	limit, from := uint64(usualPeople), uint64(0)
	for name, to := range map[string]*uint64{"limit": &limit, "from": &from} {
		if q := r.URL.Query().Get(name); q != "" {
			var err error
			if *to, err = number(name, q); err != nil {
				return nil, err
			}
		}
	}
	if limit > mostPeople {
		return nil, fmt.Errorf("%w: limit %d, at most %d participants", errBad, limit, mostPeople)
	}
	first := slices.IndexFunc(list, func(x T) bool { return uint64(index(x)) >= from })
	if first < 0 {
		return []T{}, nil
	}
	return list[first:min(first+int(limit), len(list))], nil
}

// Person is a participant under /v1.
type Person struct {
	Index          uint32   `json:"index"`
	ID             string   `json:"id"`
	Moniker        string   `json:"moniker"`
	Address        string   `json:"address"`
	PubKey         string   `json:"pub_key"`
	ConsensusKey   string   `json:"consensus_key"` // empty for a worker alone
	NodeIDs        []string `json:"node_ids,omitempty"`
	Active         bool     `json:"active"`
	Joined         uint64   `json:"joined"`
	Participations uint64   `json:"participations"`
	Reputation     int64    `json:"reputation"` // parts per million
	Standing       Standing `json:"standing"`
}

func (s *Server) answerParticipants(r *http.Request) (any, error) {
	all, err := s.standings(r.Context())
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return nil, err
	}
	out := []Person{}
	for i, p := range people[:min(len(people), len(all))] {
		out = append(out, Person{
			Index: p.Index, ID: hex.EncodeToString(p.Id), Moniker: p.Moniker, Address: p.Address,
			PubKey:       hex.EncodeToString(p.PubKey),
			ConsensusKey: hex.EncodeToString(p.ConsensusKey), NodeIDs: p.NodeIds, Active: p.Active, Joined: p.Joined,
			Participations: p.Participations,
			Reputation:     p.Reputation, Standing: all[i],
		})
	}
	return windowOf(r, out, func(p Person) uint32 { return p.Index })
}

// answerModel returns a model as JSON numbers or, with ?format=safetensors, as the file that
// `spdl model export` writes, with its card and proof.
func (s *Server) answerModel(w http.ResponseWriter, r *http.Request) {
	name := clientOf(r.RemoteAddr)
	if !s.models.enter(name) {
		w.Header().Set("Retry-After", "1")
		s.refuse(w, r, http.StatusServiceUnavailable, "too many models at once")
		return
	}
	defer s.models.leave(name)
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	r = r.WithContext(ctx)
	at, err := s.roundAsked(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	switch format := r.URL.Query().Get("format"); format {
	case "", "json":
		err = s.sendNumbers(w, r, at)
	case "safetensors":
		err = s.sendFile(w, r, at)
	default:
		err = fmt.Errorf("%w: format %q, want json or safetensors", errBad, short(format, 20))
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// sendNumbers sends a model as JSON. It returns an error only before the first byte.
func (s *Server) sendNumbers(w http.ResponseWriter, r *http.Request, at params.RoundID) error {
	m, err := s.source.model(r.Context(), at)
	if err != nil {
		return err
	}
	x, err := app.DecodeParameters(m.Parameters)
	if err != nil {
		return err
	}
	numbers := make([]*float64, len(x)) // a model that has overflowed has NaNs, and JSON has none
	for i := range x {
		numbers[i] = finite(x[i])
	}
	writeJSON(w, http.StatusOK, struct {
		Epoch      uint64     `json:"epoch"`
		Round      uint64     `json:"round"`
		Hash       string     `json:"hash"`
		Parameters []*float64 `json:"parameters"`
	}{at.Epoch, at.Round, m.Hash, numbers})
	return nil
}

// sendFile sends the file of `spdl model export`. It returns an error only before the first byte.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, at params.RoundID) error {
	if s.export == nil {
		return fmt.Errorf("%w: this explorer has no node to export models of", errNotFound)
	}
	f, err := s.export(r.Context(), at.Epoch, at.Round)
	if err != nil {
		return err
	}
	body, err := f.Encode(modelfile.Safetensors)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="model-%d-%d.safetensors"`, at.Epoch,
		at.Round))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
	return nil
}

// Times of a stream: the interval of its heartbeats, its max duration, and the time that a reader
// has to take an event. EventSource reconnects by itself.
const (
	beat       = 15 * time.Second
	streamLife = 30 * time.Minute
	patience   = 10 * time.Second
)

// events streams "status", "round", "measured" and "node" as Server-Sent Events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	name := clientOf(r.RemoteAddr)
	if !s.clients.enter(name) {
		w.Header().Set("Retry-After", "10")
		s.refuse(w, r, http.StatusServiceUnavailable, "too many streams")
		return
	}
	defer s.clients.leave(name)
	feed, end := s.tail.read()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // httptest's recorder has none
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !send([]byte("retry: 2000\n\n")) || r.Method == http.MethodHead {
		return
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	over := time.NewTimer(streamLife)
	defer over.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		case <-over.C:
			return
		case <-alive.C:
			if !send([]byte(": still here\n\n")) {
				return
			}
		case news, ok := <-feed:
			if !ok || !send(news) {
				return
			}
		}
	}
}
