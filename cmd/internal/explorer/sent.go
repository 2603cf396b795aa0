package explorer

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/spdl/spdl/app"
)

// gradient redirects to the transaction of a participant's gradient in a closed round, and
// aggregate to that of the round's aggregate. The explorer searches the node's index only when a
// reader follows the link, because the block of a thousand gradients has tens of megabytes.
func (s *Server) gradient(w http.ResponseWriter, r *http.Request) {
	s.leadTo(w, r, func(record *app.Record) (string, error) {
		index, err := number("participant", r.PathValue("index"))
		return fmt.Sprintf("gradient.participant=%d AND tx.height=%d", index, record.Height), err
	})
}

func (s *Server) aggregate(w http.ResponseWriter, r *http.Request) {
	s.leadTo(w, r, func(record *app.Record) (string, error) {
		return fmt.Sprintf("aggregate.leader=%d AND tx.height=%d", record.Leader, record.Height), nil
	})
}

// leadTo redirects to the transaction that a search in a closed round finds.
func (s *Server) leadTo(w http.ResponseWriter, r *http.Request, search func(*app.Record) (string, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	at, err := placeOf(r)
	var record *app.Record
	if err == nil {
		record, err = s.source.record(ctx, at)
	}
	var query string
	if err == nil {
		query, err = search(record)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	first := 1
	found, err := s.source.blocks.TxSearch(ctx, query, false, &first, &first, "")
	if err == nil && len(found.Txs) == 0 {
		err = fmt.Errorf("%w: no such transaction in block %d", errNotFound, record.Height)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/tx/"+hex.EncodeToString(found.Txs[0].Hash), http.StatusSeeOther)
}
