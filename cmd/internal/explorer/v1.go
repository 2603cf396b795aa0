package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
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
		"/v1/search":                 s.answerSearch,
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
			write(w, http.StatusOK, jsonType, text)
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
		w.Header().Set("Content-Type", jsonType)
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
	write(w, code, jsonType, text)
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
	out := []chainview.Point{}
	for _, p := range points[max(0, len(points)-int(limit)):] {
		out = append(out, p.Brief(usualPeople))
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
	story.Verdicts, err = windowOf(r, story.Verdicts, func(v chainview.Verdict) uint32 { return v.Participant })
	return story, err
}
