package explorer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
)

// Times of an event stream: the interval of its heartbeats, its max duration, and the time that a
// reader has to take an event. When a stream ends, EventSource reconnects by itself.
const (
	beat       = 15 * time.Second
	streamLife = 30 * time.Minute
	patience   = 10 * time.Second
)

// events streams "status", "round", "measured" and "node" as Server-Sent Events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	name := clientOf(r.RemoteAddr)
	if !s.streams.enter(name) {
		w.Header().Set("Retry-After", "10")
		s.refuse(w, r, http.StatusServiceUnavailable, "too many streams")
		return
	}
	defer s.streams.leave(name)
	feed, end := s.chain.Subscribe()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // fails on httptest's recorder, which has no deadlines
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
	ctx, over := context.WithTimeout(r.Context(), streamLife)
	defer over()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ended:
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

// event returns the text of one event of a stream, or "" if the body cannot be encoded. It cuts lists to the default
// length of an answer.
func event(name string, body any) []byte {
	switch x := body.(type) {
	case chainview.Point:
		body = x.Brief(usual)
	case query.Status:
		x.Ranking = first(x.Ranking)
		body = x
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, pages.Visible(raw, pages.ForJSON))
}
