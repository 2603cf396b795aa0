package explorer

import (
	"encoding/json"
	"fmt"

	"github.com/spdl/spdl/abci/query"
)

// event returns the text of one event of a stream, or "" if the body cannot be encoded.
func event(name string, body any) []byte {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, visible(raw, forJSON))
}

// said returns the event of a status.
func said(s query.Status) []byte {
	s.Ranking = first(s.Ranking)
	return event("status", s)
}

// queued is the max number of looks at the chain by which a reader may fall behind.
const queued = 32

// tell sends events to all readers, and closes the streams of readers that are too far behind. Such
// readers connect again and begin with the current history. The caller holds the lock.
func (t *tail) tell(news []byte) {
	for reader := range t.readers {
		select {
		case reader <- news:
		default:
			delete(t.readers, reader)
			close(reader)
		}
	}
}

// read begins a stream with the current status.
func (t *tail) read() (events <-chan []byte, end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	reader := make(chan []byte, queued)
	t.readers[reader] = struct{}{}
	if t.begun {
		reader <- said(t.status)
	}
	if t.failure != nil {
		reader <- event("node", map[string]bool{"lost": true})
	}
	return reader, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.readers, reader)
	}
}
