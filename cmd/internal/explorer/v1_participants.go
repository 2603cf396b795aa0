package explorer

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

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

// first returns the first participants of a list, at most as many as an answer without ?limit= has.
func first(list []uint32) []uint32 { return list[:min(len(list), usualPeople)] }
