package explorer

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// mostRounds and mostPeople are the max numbers of rounds and participants in an answer, and suggested the max number
// of answers to a search while a reader types.
const mostRounds, mostPeople, suggested = 1024, 1000, 8

// api registers the paths of /v1. assets/openapi.json describes them.
func (s *Server) api(mux *http.ServeMux) {
	for pattern, answer := range map[string]func(*pages.Request) any{
		"/v1/status": func(r *pages.Request) any {
			status := chainview.Ask[query.Status](r.Reader, "/status")
			status.Ranking = first(status.Ranking)
			return status
		},
		"/v1/params": func(r *pages.Request) any { return chainview.Ask[params.Params](r.Reader, "/params") },
		"/v1/privacy": func(r *pages.Request) any {
			return windowOf(r, chainview.Ask[[]query.Spend](r.Reader, "/privacy"),
				func(x query.Spend) uint32 { return x.Participant })
		},
		"/v1/epochs":                 func(r *pages.Request) any { return r.Epochs() },
		"/v1/rounds":                 answerRounds,
		"/v1/rounds/{round}":         answerRound,
		"/v1/rounds/{epoch}/{round}": answerRound,
		"/v1/participants":           answerParticipants,
		"/v1/search": func(r *pages.Request) any {
			_, all := pages.Find(r)
			return append([]pages.Found{}, all[:min(suggested, len(all))]...)
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			text, err := s.once(r, func(r *pages.Request) ([]byte, error) {
				body := answer(r)
				if err := r.Err(); err != nil {
					return nil, err
				}
				return textOf(body)
			})
			s.reply(w, r, jsonType, text, err)
		})
	}
	mux.HandleFunc("/v1/models/{round}", s.answerModel)
	mux.HandleFunc("/v1/models/{epoch}/{round}", s.answerModel)
	mux.HandleFunc("/v1/events", s.events)
	mux.HandleFunc("/v1/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		body, err := pages.Assets.ReadFile("assets/openapi.json")
		s.reply(w, r, jsonType, body, err)
	})
}

// limitOf returns ?limit=, which is at most most.
func limitOf(r *pages.Request, most uint64, of string) uint64 {
	limit := r.NumberOr("limit", usual)
	if limit > most {
		r.Fail(fmt.Errorf("%w: limit %d, at most %d %s", pages.ErrBad, limit, most, of))
	}
	return min(limit, most)
}

// windowOf returns the part of a list by participant selected by ?limit= and ?from=, a participant's number.
func windowOf[T any](r *pages.Request, list []T, index func(T) uint32) []T {
	limit, from := limitOf(r, mostPeople, "participants"), r.NumberOr("from", 0)
	first := slices.IndexFunc(list, func(x T) bool { return uint64(index(x)) >= from })
	if first < 0 {
		return []T{}
	}
	return list[first:min(first+int(limit), len(list))]
}

// answerRounds returns the last ?limit= rounds of the course, by default 100, oldest first.
func answerRounds(r *pages.Request) any {
	points, limit := r.Course().Points, limitOf(r, mostRounds, "rounds")
	out := []chainview.Point{}
	for _, p := range points[max(0, len(points)-int(limit)):] {
		out = append(out, p.Brief(usual))
	}
	return out
}

// roundAsked parses {round}, of the running epoch, or {epoch}/{round}; "latest" is the last closed round.
func roundAsked(r *pages.Request) (at params.RoundID) {
	if r.PathValue("epoch") != "" {
		return r.Place()
	}
	status := chainview.Ask[query.Status](r.Reader, "/status")
	at = params.RoundID{Epoch: status.Epoch, Round: status.Round - 1}
	if r.PathValue("round") != "latest" {
		at.Round = r.Number("round", r.PathValue("round"))
	} else if status.Round == 0 {
		r.Fail(fmt.Errorf("%w: no round of epoch %d is closed", chainview.ErrNotFound, status.Epoch))
	}
	return at
}

func answerRound(r *pages.Request) any {
	story := r.Story(roundAsked(r))
	story.Ranking = first(story.Ranking)
	story.Verdicts = windowOf(r, story.Verdicts, func(v chainview.Verdict) uint32 { return v.Participant })
	return story
}

// Person is a participant under /v1.
type Person struct {
	Index          uint32             `json:"index"`
	ID             string             `json:"id"`
	Moniker        string             `json:"moniker"`
	Address        string             `json:"address"`
	PubKey         string             `json:"pub_key"`
	ConsensusKey   string             `json:"consensus_key"` // empty for a worker alone
	NodeIDs        []string           `json:"node_ids,omitempty"`
	Active         bool               `json:"active"`
	Joined         uint64             `json:"joined"`
	Participations uint64             `json:"participations"`
	Reputation     int64              `json:"reputation"` // parts per million
	Standing       chainview.Standing `json:"standing"`
}

func answerParticipants(r *pages.Request) any {
	all, people, out := r.Standings(), r.Participants(), []Person{}
	for i, p := range people[:min(len(people), len(all))] {
		out = append(out, Person{Index: p.Index, ID: hex.EncodeToString(p.Id), Moniker: p.Moniker, Address: p.Address,
			PubKey: hex.EncodeToString(p.PubKey), ConsensusKey: hex.EncodeToString(p.ConsensusKey), NodeIDs: p.NodeIds,
			Active: p.Active, Joined: p.Joined, Participations: p.Participations, Reputation: p.Reputation,
			Standing: all[i]})
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
	asked, cancel := s.request(r)
	defer cancel()
	at := roundAsked(asked)
	format := asked.Value("format")
	switch {
	case asked.Err() != nil:
		s.fail(w, r, asked.Err())
	case format == "" || format == "json":
		text, err := numbersOf(asked, at)
		s.reply(w, r, jsonType, text, err)
	case format != "safetensors":
		s.fail(w, r, fmt.Errorf("%w: format %q, want json or safetensors", pages.ErrBad, pages.Short(format, 20)))
	case s.export == nil:
		s.fail(w, r, fmt.Errorf("%w: this explorer has no node to export models of", chainview.ErrNotFound))
	default:
		var body []byte
		f, err := s.export(asked.Ctx, at.Epoch, at.Round)
		if err == nil {
			body, err = f.Encode(modelfile.Safetensors)
		}
		if err == nil {
			w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="model-%d-%d.safetensors"`, at.Epoch,
				at.Round))
		}
		s.reply(w, r, "application/octet-stream", body, err)
	}
}

// numbersOf returns a model as JSON.
func numbersOf(r *pages.Request, at params.RoundID) ([]byte, error) {
	m := r.Model(at)
	x, err := app.DecodeParameters(m.Parameters)
	if r.Fail(err); r.Err() != nil {
		return nil, r.Err()
	}
	numbers := make([]*float64, len(x)) // a model that has overflowed has NaNs, and JSON has none
	for i := range x {
		numbers[i] = chainview.Finite(x[i])
	}
	return textOf(struct {
		Epoch      uint64     `json:"epoch"`
		Round      uint64     `json:"round"`
		Hash       string     `json:"hash"`
		Parameters []*float64 `json:"parameters"`
	}{at.Epoch, at.Round, m.Hash, numbers})
}
