package explorer

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

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
		numbers[i] = chainview.Finite(x[i])
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
