package explorer

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/cmd/internal/gain"
)

// gainPause is the min time between two measurements of a gain, and gainPatience the time that a page waits for one:
// it takes seconds, and goes on in the background.
const gainPause, gainPatience = time.Minute, 5 * time.Second

// own measures what a member gains by the newest model on its own rows, when a page asks for it.
type own struct {
	path string // of the rows; "" for none
	by   gain.Predictor

	mu      sync.Mutex
	last    pages.Gained
	begun   time.Time
	running chan struct{} // closed at the end of the running measurement; nil if none runs
}

// gained returns the newest result. It begins a measurement if there is a newer model.
func (o *own) gained(r *pages.Request) (last pages.Gained) {
	now := r.Course()
	if r.Err() != nil || now.Status.Round == 0 {
		return last
	}
	at := now.Points[len(now.Points)-1].ID()
	o.mu.Lock()
	defer o.mu.Unlock()
	if stale := o.last.Report == nil || o.last.At != at; stale && o.running == nil && time.Since(o.begun) > gainPause {
		x, err := app.DecodeParameters(r.Model(at).Parameters)
		if r.Fail(err); r.Err() != nil {
			return last
		}
		done := make(chan struct{})
		o.running, o.begun = done, time.Now()
		go func() {
			g, err := gain.Of(context.Background(), o.path, now.Params.Model, x, 0, o.by, "")
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.last = (pages.Gained{At: at, Report: &g}); err != nil {
				o.last = pages.Gained{At: at, Why: err.Error()}
			}
			o.running = nil
			close(done)
		}()
	}
	if running := o.running; running != nil {
		o.mu.Unlock()
		select {
		case <-running:
		case <-time.After(gainPatience):
		case <-r.Ctx.Done():
		}
		o.mu.Lock()
	}
	last = o.last
	last.Busy = o.running != nil
	return last
}

// isOwn reports whether a request comes from the member's own network: from and to a loopback or private address, and
// not through a proxy, as far as a proxy can be told.
func (s *Server) isOwn(r *http.Request) bool {
	proxies := []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"}
	if slices.ContainsFunc(proxies, func(name string) bool { return r.Header.Get(name) != "" }) {
		return false
	}
	near := func(hostPort string) bool {
		host, _, err := net.SplitHostPort(hostPort)
		if err != nil {
			host = hostPort
		}
		a, err := netip.ParseAddr(host)
		return host == "localhost" || err == nil && (a.Unmap().IsLoopback() || a.Unmap().IsPrivate())
	}
	return s.own.path != "" && r.ProtoAtLeast(1, 1) && near(r.RemoteAddr) && near(r.Host)
}

// gainOf returns what measures the gain for a request of the member itself, nil for other requests and models.
func (s *Server) gainOf(r *http.Request) func(*pages.Request) pages.Gained {
	if course, err := s.chain.Now(); err != nil || !gain.Measures(course.Params.Model) || !s.isOwn(r) {
		return nil
	}
	return s.own.gained
}

// address returns the name under which an answer is kept: a member's own answers are not those of others.
func (s *Server) address(r *http.Request) string {
	if s.gainOf(r) != nil {
		return "own " + r.URL.RequestURI()
	}
	return r.URL.RequestURI()
}
