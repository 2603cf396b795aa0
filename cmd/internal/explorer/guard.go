package explorer

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
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
		case !s.known(r.Host):
			s.refuse(w, r, http.StatusMisdirectedRequest, "this name is not served here: list it in api.hosts of app.toml, "+
				"or in --hosts")
		case !s.clients.allow(clientOf(r.RemoteAddr)):
			h.Set("Retry-After", "1")
			s.refuse(w, r, http.StatusTooManyRequests, "too many requests")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// known reports whether a Host header names this explorer: an address, localhost or a host name
// that the operator listed. With a foreign name that resolves to this explorer, a page on the web
// could read a node behind a firewall (DNS rebinding).
func (s *Server) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || slices.Contains(s.options.Hosts, host) || slices.Contains(s.options.Hosts, "*")
}
