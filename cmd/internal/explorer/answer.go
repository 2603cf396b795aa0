package explorer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
)

// The media types of pages and of answers to /v1.
const htmlType, jsonType = "text/html; charset=utf-8", "application/json"

// once returns the answer to a request. It makes the answer once per look at the chain.
func (s *Server) once(r *http.Request, write func(*pages.Request) ([]byte, error)) ([]byte, error) {
	asked, cancel := s.request(r)
	defer cancel()
	return s.written.Get(asked.Ctx, s.chain.Looks(), s.address(r), func() ([]byte, error) { return write(asked) })
}

// request begins an answer.
func (s *Server) request(r *http.Request) (*pages.Request, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	return &pages.Request{Reader: s.chain.Reader(ctx), URL: r.URL, PathValue: r.PathValue, Node: s.node,
		Gained: s.gainOf(r)}, cancel
}

// reply writes an answer, or the page of its error.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, mediaType string, body []byte, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, mediaType, body)
}

// show writes a page. It completes the page before it sends the first byte, so that an error can
// still change the status.
func (s *Server) show(w http.ResponseWriter, code int, asked string, v pages.Content) {
	text, err := pages.Write(s.chain, asked, false, v)
	if err != nil {
		s.options.Log("page is not written", "err", err)
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	write(w, code, htmlType, text)
}

// write writes a response with a body of a media type.
func write(w http.ResponseWriter, code int, mediaType string, body []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

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

// textOf returns a value as JSON. encoding/json escapes <, > and &, and unprintable characters are
// escaped too: the answer is safe to display.
func textOf(value any) ([]byte, error) {
	body, err := json.Marshal(value)
	return append(pages.Visible(body, pages.ForJSON), '\n'), err
}

// usual is the number of rounds or participants in an answer without ?limit=.
const usual = 100

// first returns the first participants of a list, at most usual.
func first(list []uint32) []uint32 { return list[:min(len(list), usual)] }
