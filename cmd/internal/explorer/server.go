package explorer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/cmd/internal/modelfile/fetch"
	"github.com/spdl/spdl/internal/memo"
)

// Options are an explorer's settings. The zero value of a field is its default.
type Options struct {
	// Evaluator measures the model after every round. Default: none.
	Evaluator chainview.Evaluator
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

// OptionsOf returns the explorer's options in app.toml. It uses the evaluator only if explorer.eval
// is set.
func OptionsOf(a home.AppConfig, e chainview.Evaluator) Options {
	o := Options{
		Hosts: a.API.HostNames(), Rate: a.API.Rate, Burst: a.API.Burst,
		MaxConnections: a.API.MaxConnections, MaxStreams: a.API.MaxStreams, StreamsPerClient: a.API.StreamsPerClient,
	}
	if a.Explorer.Eval {
		o.Evaluator = e
	}
	return o
}

// The max number of models that the explorer sends at the same time, to one client and to all. An
// answer with a large model takes a hundred megabytes until the reader has read it.
const modelsPerClient, maxModels = 2, 8

// writtenBytes bounds the bytes of cached pages and answers between two looks at the chain.
// keptPages is the number of pages that the explorer can show while the node does not answer.
const writtenBytes, keptPages = 8 << 20, 64

// answerTime is the timeout of one answer, including the node's time.
const answerTime = 10 * time.Second

// Server is an explorer of one node.
type Server struct {
	options         Options
	chain           *chainview.Chain
	written         *chainview.Latest[[]byte]            // pages and answers
	last            *memo.Bounded[string, pages.Content] // of each address, shown while the node does not answer
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

// shownNode returns a node's RPC address as pages show it. It shows an address on another machine
// as NODE, because only the operator needs to know it.
func shownNode(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "NODE"
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
		return "tcp://" + u.Host
	}
	return "NODE"
}

// New prepares an explorer.
func New(a chainview.Asker, b chainview.RPC, o Options) *Server {
	o.complete()
	s := &Server{options: o, buckets: memo.New[string, *rate.Limiter](keptGuests),
		chain:   chainview.New(a, b, chainview.Options{Evaluator: o.Evaluator, Log: o.Log, Encode: event}),
		streams: newSlots(o.StreamsPerClient, o.MaxStreams), models: newSlots(modelsPerClient, maxModels),
		ended: make(chan struct{}), node: "NODE", last: memo.New[string, pages.Content](keptPages),
		// the address of an answer counts too
		written: chainview.NewLatest(writtenBytes, func(text []byte) int { return longest + len(text) })}
	s.handler = s.guard(s.routes())
	return s
}

// Handler serves all pages and answers. Live data needs Serve.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve serves until ctx is done. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		s.options.Log("explorer is open to other machines", "address", a)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	followed := make(chan struct{})
	go func() { s.chain.Follow(ctx, s.options.Poll); close(followed) }()
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
