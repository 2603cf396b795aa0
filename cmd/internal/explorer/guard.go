package explorer

import (
	"net/http"

	"github.com/spdl/spdl/abci/home"
)

// policy is the Content-Security-Policy of a page: it may load resources from this server and
// images from data: URLs, and has no inline scripts or styles.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// alonePolicy is the policy of the page that verifies files when it is opened without an explorer,
// and verifierPolicy is that of the same page and its worker in an explorer. Both allow
// WebAssembly.
const (
	alonePolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'"
	verifierPolicy = alonePolicy + "; frame-ancestors 'none'"
)

// longest is the max number of bytes in a request's path and query.
const longest = 1024

// guard wraps every handler. It sets the headers, and rejects requests that do more than read.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			h.Set("Connection", "close") // the server need not read the body
			s.refuse(w, r, http.StatusMethodNotAllowed, "nothing is written here: GET only")
		case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
			h.Set("Connection", "close")
			s.refuse(w, r, http.StatusRequestEntityTooLarge, "a request has no body here")
		case len(r.URL.Path)+len(r.URL.RawQuery) > longest:
			s.refuse(w, r, http.StatusRequestURITooLong, "the address is too long")
		case !home.IsOwnHost(r.Host, s.options.Hosts):
			s.refuse(w, r, http.StatusMisdirectedRequest, "this name is not served here: list it in api.hosts of app.toml, "+
				"or in --hosts")
		case !s.allow(clientOf(r.RemoteAddr)):
			h.Set("Retry-After", "1")
			s.refuse(w, r, http.StatusTooManyRequests, "too many requests")
		default:
			next.ServeHTTP(w, r)
		}
	})
}
