package explorer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"
)

// errorPage says in plain words why there is no page.
type errorPage struct {
	Text   string
	Detail string // for the operator; "" if the text is enough
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
	case errors.Is(err, errBad):
		return http.StatusBadRequest, err.Error()
	case absent(err):
		return http.StatusNotFound, "this node does not have it: " + short(cause(err), 200)
	case errors.Is(err, errNotYet):
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
		writeJSON(w, code, map[string]string{"error": text})
		return
	}
	title, page := plainly(r, code, text)
	s.render(w, r, code, content{"error", title, page})
}

// plainly returns a title and a sentence for a status code.
func plainly(r *http.Request, code int, text string) (title string, page errorPage) {
	sentence := strings.ToUpper(text[:1]) + text[1:] + "."
	switch code {
	case http.StatusNotFound:
		return "Not found", errorPage{missing(r.URL.Path), text}
	case http.StatusBadRequest:
		return "This address is not understood", errorPage{sentence, ""}
	case http.StatusServiceUnavailable:
		return "Not ready", errorPage{sentence + " Load the page again in a moment.", ""}
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return "The node does not answer", errorPage{sentence + " Load the page again in a moment.", ""}
	case http.StatusTooManyRequests:
		return "Too many requests", errorPage{"Your address asks for too many pages. Load this one again in a moment.", ""}
	}
	return http.StatusText(code), errorPage{sentence, ""}
}

// missing returns a sentence: this node does not have what the path names.
func missing(path string) string {
	kind, what, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	what = short(what, 80)
	switch kind {
	case "block":
		return fmt.Sprintf("This node does not have block %s: it is still to come, or was dropped.", what)
	case "round":
		return fmt.Sprintf("This node does not have round %s: it is not closed yet, or was dropped.", what)
	case "participant":
		return fmt.Sprintf("No participant has the number %s.", what)
	case "tx":
		return "No transaction with this hash is in a block that this node has indexed."
	}
	return "There is no page at this address."
}
