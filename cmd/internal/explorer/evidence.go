package explorer

import (
	"net/http"
	"slices"

	"github.com/spdl/spdl/app"
)

// evidence shows every proven offence, newest first.
func (s *Server) evidence(r *http.Request) (content, error) {
	offences, err := known[[]app.Offence](r.Context(), s.source, "/evidence")
	if err != nil {
		return content{}, err
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	type line struct {
		app.Offence
		Who *app.Participant
	}
	b := struct {
		Lines []line
		Pager pager
	}{}
	for _, o := range slices.Backward(offences) {
		l := line{Offence: o}
		if int64(o.Participant) < int64(len(people)) {
			l.Who = &people[o.Participant]
		}
		b.Lines = append(b.Lines, l)
	}
	if b.Lines, b.Pager, err = pageOf(r, b.Lines); err != nil {
		return content{}, err
	}
	return content{"evidence", "Evidence", b}, nil
}
