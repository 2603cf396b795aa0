package explorer

import (
	"context"
	"errors"
	"net/http"
	"strings"

	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
)

// fail answers with an error: as JSON under /v1, otherwise as a page.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, text := s.explain(r, err)
	s.refuse(w, r, code, text)
}

// cause returns the node's error text without the text that the transport adds.
func cause(err error) string {
	var answer *rpctypes.RPCError
	if errors.As(err, &answer) && answer.Data != "" {
		return answer.Data
	}
	return err.Error()
}

// explain returns the status code and the text for an error. Only the operator sees details of the
// node or its connection.
func (s *Server) explain(r *http.Request, err error) (code int, text string) {
	switch {
	case errors.Is(err, pages.ErrBad):
		return http.StatusBadRequest, err.Error()
	case chainview.Missing(err):
		return http.StatusNotFound, "this node does not have it: " + pages.Short(cause(err), 200)
	case errors.Is(err, chainview.ErrNotYet):
		return http.StatusServiceUnavailable, err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "the node did not answer in time"
	}
	s.options.Log("request fails", "path", r.URL.Path, "err", err)
	return http.StatusBadGateway, "the node did not answer, or not as it should"
}

// refuse answers with a status code and a text.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, code int, text string) {
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		body, _ := textOf(map[string]string{"error": text}) // a text can always be written
		write(w, code, jsonType, body)
		return
	}
	s.show(w, code, "", pages.Failure(r.URL.Path, code, text))
}
