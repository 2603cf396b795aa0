package explorer

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
)

// The media types of pages and of answers to /v1.
const htmlType, jsonType = "text/html; charset=utf-8", "application/json"

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, page := range pages.Routes {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			address := r.URL.RequestURI()
			text, err := s.once(r, func(r *pages.Request) ([]byte, error) {
				v := page(r)
				if err := r.Err(); err != nil {
					return nil, err
				}
				s.last.Put(address, v)
				return pages.Write(s.chain, "", v)
			})
			if last, ok := s.last.Cached(address); err != nil && ok && s.chain.Lost() {
				s.show(w, http.StatusServiceUnavailable, "", last) // the layout shows that the node does not answer
				return
			}
			if pattern == "/verify" && err == nil {
				w.Header().Set("Content-Security-Policy", pages.VerifierPolicy)
			}
			s.reply(w, r, htmlType, text, err)
		})
	}
	for pattern, page := range pages.Files {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			text, err := s.once(r, func(r *pages.Request) ([]byte, error) {
				name, isCSV := strings.CutSuffix(r.PathValue("file"), ".csv")
				if !isCSV {
					return nil, fmt.Errorf("%w: page %q", chainview.ErrNotFound, pages.Short(r.URL.Path, 100))
				}
				v := page(r)
				if err := r.Err(); err != nil {
					return nil, err
				}
				return pages.Table(v, name)
			})
			if err == nil {
				w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q",
					strings.ReplaceAll(strings.Trim(r.URL.Path, "/"), "/", "-")))
			}
			s.reply(w, r, "text/csv; charset=utf-8", text, err)
		})
	}
	mux.HandleFunc("/search", s.search)
	mux.HandleFunc("/round/{epoch}/{round}/gradient/{index}", s.gradient)
	mux.HandleFunc("/round/{epoch}/{round}/aggregate", s.aggregate)
	mux.HandleFunc("/assets/{name}", serveAsset)
	s.api(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, chainview.ErrNotFound) })
	return mux
}

// once returns the answer to a request. It makes the answer once per look at the chain.
func (s *Server) once(r *http.Request, write func(*pages.Request) ([]byte, error)) ([]byte, error) {
	asked, cancel := s.request(r)
	defer cancel()
	return s.written.Get(asked.Ctx, s.chain.Looks(), r.URL.RequestURI(), func() ([]byte, error) { return write(asked) })
}

// request begins an answer.
func (s *Server) request(r *http.Request) (*pages.Request, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	return &pages.Request{Reader: s.chain.Reader(ctx), URL: r.URL, PathValue: r.PathValue, Node: s.node}, cancel
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
	text, err := pages.Write(s.chain, asked, v)
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

// search shows the answers to a query. It redirects to a single answer.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	asked, cancel := s.request(r)
	defer cancel()
	q, all := pages.Find(asked)
	switch {
	case asked.Err() != nil:
		s.fail(w, r, asked.Err())
	case len(all) == 1:
		http.Redirect(w, r, all[0].Path, http.StatusSeeOther)
	case len(all) == 0 && q != "":
		s.show(w, http.StatusNotFound, r.URL.Query().Get("q"), pages.Answers(q, all))
	default:
		s.show(w, http.StatusOK, r.URL.Query().Get("q"), pages.Answers(q, all))
	}
}

// gradient redirects to the transaction of a participant's gradient in a closed round, and
// aggregate to that of the round's aggregate. The explorer searches the node's index only when a
// reader follows the link, because the block of a thousand gradients has tens of megabytes.
func (s *Server) gradient(w http.ResponseWriter, r *http.Request) {
	s.leadTo(w, r, func(r *pages.Request) string {
		return fmt.Sprintf("gradient.participant=%d", r.Number("participant", r.PathValue("index")))
	})
}

func (s *Server) aggregate(w http.ResponseWriter, r *http.Request) {
	s.leadTo(w, r, func(r *pages.Request) string {
		return fmt.Sprintf("aggregate.leader=%d", r.Record(r.Place()).Leader)
	})
}

// leadTo redirects to the transaction that a search in the block of a closed round finds.
func (s *Server) leadTo(w http.ResponseWriter, r *http.Request, query func(*pages.Request) string) {
	asked, cancel := s.request(r)
	defer cancel()
	hash := asked.HashOf(query(asked), asked.Record(asked.Place()).Height)
	if err := asked.Err(); err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/tx/"+hex.EncodeToString(hash), http.StatusSeeOther)
}

// serveAsset serves a script or a style sheet.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".gz": "application/gzip"}[path.Ext(name)]
	f, err := pages.Assets.Open("assets/" + name)
	if kind == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "verify") {
		w.Header().Set("Content-Security-Policy", pages.VerifierPolicy)
	}
	if kind == "application/gzip" { // megabytes, which take a slow line longer than a page
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(5 * time.Minute))
	}
	http.ServeContent(w, r, "", time.Time{}, f.(io.ReadSeeker)) // an embedded file is one
}
