package explorer

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, page := range pages.Routes {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			address := s.address(r)
			text, err := s.once(r, func(r *pages.Request) ([]byte, error) {
				v := page(r)
				if err := r.Err(); err != nil {
					return nil, err
				}
				s.last.Put(address, v)
				return pages.Write(s.chain, "", r.Gained != nil, v)
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
	// The transaction of a participant's gradient in a closed round, and that of the round's aggregate: the explorer
	// searches the node's index only when a reader follows the link, because the block of a thousand gradients has tens of
	// megabytes.
	for pattern, to := range map[string]func(*pages.Request) string{
		"/round/{round}": func(r *pages.Request) string { return "/round/" + roundAsked(r).String() },
		"/round/{epoch}/{round}/gradient/{index}": func(r *pages.Request) string {
			return inBlock(r, fmt.Sprintf("gradient.participant=%d", r.Number("participant", r.PathValue("index"))))
		},
		"/round/{epoch}/{round}/aggregate": func(r *pages.Request) string {
			return inBlock(r, fmt.Sprintf("aggregate.leader=%d", r.Record(r.Place()).Leader))
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.lead(w, r, to) })
	}
	mux.HandleFunc("/assets/{name}", serveAsset)
	s.api(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, chainview.ErrNotFound) })
	return mux
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

// inBlock returns the path of the transaction that a search in the block of a closed round finds.
func inBlock(r *pages.Request, query string) string {
	return "/tx/" + hex.EncodeToString(r.HashOf(query, r.Record(r.Place()).Height))
}

// lead redirects to a path.
func (s *Server) lead(w http.ResponseWriter, r *http.Request, to func(*pages.Request) string) {
	asked, cancel := s.request(r)
	defer cancel()
	path := to(asked)
	if err := asked.Err(); err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
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
