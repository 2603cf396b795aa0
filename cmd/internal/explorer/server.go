package explorer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/cmd/internal/modelfile/fetch"
	"github.com/spdl/spdl/internal/memo"
)

// errNotYet reports that the first look at the chain is not done.
var errNotYet = errors.New("the explorer has not seen the chain yet")

// Options are an explorer's settings. The zero value of a field is its default.
type Options struct {
	// Evaluator measures the model after every round. Default: none.
	Evaluator Evaluator
	// Hosts are the host names under which it is served, in lower case, in addition to addresses
	// and localhost; "*" allows any name.
	Hosts []string
	// Rate is the max number of requests a second of one client, default 50. Burst is the max
	// number at once, default 100.
	Rate  float64
	Burst int
	// MaxConnections is the max number of connections, default 512. One client may have a quarter
	// of them, or pageShare more than its streams. MaxStreams is the max number of event streams
	// among them, default 256, and StreamsPerClient that of one client, default 64.
	MaxConnections, MaxStreams, StreamsPerClient int
	// Poll is the interval between two looks at the chain, default one second. The explorer renders
	// an answer once per look, and sends streams all rounds between two looks together.
	Poll time.Duration
	// Log receives messages for the operator. Default none.
	Log func(string, ...any)
}

func (o *Options) complete() {
	if o.Rate <= 0 {
		o.Rate = 50
	}
	fill := func(x *int, value int) {
		if *x <= 0 {
			*x = value
		}
	}
	fill(&o.Burst, 100)
	fill(&o.MaxConnections, 512)
	fill(&o.MaxStreams, 256)
	fill(&o.StreamsPerClient, 64)
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
}

// The max number of models that the explorer sends at the same time, to one client and to all. An
// answer with a large model takes a hundred megabytes until the reader has read it.
const modelsPerClient, maxModels = 2, 8

// Server is an explorer of one node.
type Server struct {
	options         Options
	source          *source
	tail            *tail
	written         *latest[[]byte]                      // pages and answers
	last            *memo.Bounded[string, content]       // of each address, shown while the node does not answer
	buckets         *memo.Bounded[string, *rate.Limiter] // of requests, by client
	streams, models *slots                               // of clients to which events and models are being sent
	handler         http.Handler
	ended           chan struct{} // closed when Serve shuts down, which ends the streams
	node            string        // RPC address in the commands on pages
	// export returns the model after a round with its proof. It is nil if there is no node to
	// query.
	export func(ctx context.Context, epoch, round uint64) (*modelfile.File, error)
}

// Open prepares an explorer of a node's RPC address, as tcp://host:port or
// http://host:port. It does not connect.
func Open(node string, o Options) (*Server, error) {
	c, err := client.New(node)
	if err != nil {
		return nil, err
	}
	s := New(c, c.RPC(), o)
	s.node = shownNode(node)
	s.export = func(ctx context.Context, epoch, round uint64) (*modelfile.File, error) {
		return fetch.File(ctx, c, epoch, round, nil)
	}
	return s, nil
}

// New prepares an explorer.
func New(a Asker, b Blocks, o Options) *Server {
	o.complete()
	s := &Server{options: o, source: newSource(a, b), buckets: memo.New[string, *rate.Limiter](keptGuests),
		streams: newSlots(o.StreamsPerClient, o.MaxStreams), models: newSlots(modelsPerClient, maxModels),
		ended: make(chan struct{}), node: "NODE"}
	s.written = newLatest(writtenBytes, func(text []byte) int { return longest + len(text) }) // the address counts too
	s.last = memo.New[string, content](keptPages)
	s.tail = newTail(s.source, o.Evaluator, o.Log)
	s.handler = s.guard(s.routes())
	return s
}

// Handler serves all pages and answers. Live data needs Serve or Follow.
func (s *Server) Handler() http.Handler { return s.handler }

// Follow follows the chain until ctx is done.
func (s *Server) Follow(ctx context.Context) { s.tail.run(ctx, s.options.Poll) }

// Listen listens on an address, as tcp://host:port.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", strings.TrimPrefix(address, "tcp://"))
	if err != nil {
		return nil, fmt.Errorf("explorer address %q: %w; --laddr, or explorer.laddr in app.toml, names another", address, err)
	}
	return l, nil
}

// nextPorts is the number of ports that ListenNear tries if the first is in use.
const nextPorts = 20

// ListenNear listens on an address, or on one of the next ports if its port is in use.
func ListenNear(address string) (net.Listener, error) {
	l, err := Listen(address)
	host, text, split := net.SplitHostPort(strings.TrimPrefix(address, "tcp://"))
	port, number := strconv.Atoi(text)
	if !errors.Is(err, syscall.EADDRINUSE) || split != nil || number != nil {
		return l, err
	}
	for k := 1; k <= nextPorts; k++ {
		near, err := Listen(net.JoinHostPort(host, strconv.Itoa(port+k)))
		if err == nil {
			return near, nil
		}
	}
	return nil, err
}

// Serve serves until ctx is done. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		s.options.Log("explorer is open to other machines", "address", a)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	followed := make(chan struct{})
	go func() { s.Follow(ctx); close(followed) }()
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	shut := make(chan struct{})
	go func() {
		defer close(shut)
		<-ctx.Done()
		close(s.ended)
		end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
	}()
	err := server.Serve(netutil.LimitListener(share(l, s.options), s.options.MaxConnections))
	cancel()
	<-shut
	<-followed
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, page := range map[string]func(*http.Request) (content, error){
		"/{$}": s.home, "/blocks": s.blocks, "/block/{height}": s.block, "/tx/{hash}": s.tx,
		"/rounds": s.rounds, "/round/{epoch}/{round}": s.round,
		"/participants": s.participants, "/participant/{index}": s.participant, "/validators": s.validators,
		"/elections": s.elections,
		"/model":     s.model, "/params": s.paramsPage, "/governance": s.governance, "/evidence": s.evidence,
		"/terms": s.terms, "/verify": s.verify,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			text, err := s.once(r, func(r *http.Request) ([]byte, error) {
				v, err := page(r)
				if err != nil {
					return nil, err
				}
				s.last.Put(r.URL.RequestURI(), v)
				return s.compose(r, v)
			})
			if last, ok := s.last.Cached(r.URL.RequestURI()); err != nil && ok && s.tail.isLost() {
				s.render(w, r, http.StatusServiceUnavailable, last) // the layout shows that the node does not answer
				return
			}
			if err != nil {
				s.fail(w, r, err)
				return
			}
			if pattern == "/verify" {
				w.Header().Set("Content-Security-Policy", verifierPolicy)
			}
			write(w, http.StatusOK, htmlType, text)
		})
	}
	for pattern, page := range s.csvPages() {
		mux.HandleFunc(pattern, s.csv(page))
	}
	mux.HandleFunc("/search", s.search)
	mux.HandleFunc("/round/{epoch}/{round}/gradient/{index}", s.gradient)
	mux.HandleFunc("/round/{epoch}/{round}/aggregate", s.aggregate)
	mux.HandleFunc("/assets/{name}", serveAsset)
	s.api(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, errNotFound) })
	return mux
}

// once returns the answer to a request. It renders the answer once per look at the chain.
func (s *Server) once(r *http.Request, write func(*http.Request) ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	address := r.URL.RequestURI()
	return s.written.get(ctx, s.source.looks.Load(), address, func() ([]byte, error) {
		return write(r.WithContext(ctx))
	})
}

// writtenBytes bounds the bytes of cached pages and answers between two looks at the chain.
// keptPages is the number of pages that the explorer can show while the node does not answer.
const writtenBytes, keptPages = 8 << 20, 64

// answerTime is the timeout of one answer, including the node's time.
const answerTime = 10 * time.Second
