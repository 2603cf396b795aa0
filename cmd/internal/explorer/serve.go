package explorer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/cmd/internal/modelfile/fetch"
	"github.com/spdl/spdl/internal/memo"
)

// The max number of models that the explorer sends at the same time, to one client and to all. An
// answer with a large model takes a hundred megabytes until the reader has read it.
const modelsPerClient, maxModels = 2, 8

// writtenBytes bounds the bytes of cached pages and answers between two looks at the chain.
// keptPages is the number of pages that the explorer can show while the node does not answer.
const writtenBytes, keptPages = 8 << 20, 64

// Open prepares an explorer of a node's RPC address, as tcp://host:port or http://host:port. It does not connect.
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
		chain: chainview.New(a, b, chainview.Options{Evaluator: o.Evaluator, Log: o.Log, Encode: event}),
		own:   own{path: o.Own, by: o.Predictor}, streams: newSlots(o.StreamsPerClient, o.MaxStreams),
		models: newSlots(modelsPerClient, maxModels),
		ended:  make(chan struct{}), node: "NODE", last: memo.New[string, pages.Content](keptPages),
		// the address of an answer counts too
		written: chainview.NewLatest(writtenBytes, func(text []byte) int { return longest + len(text) })}
	s.handler = s.guard(s.routes())
	return s
}

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
	for k := 1; k <= nextPorts && split == nil && number == nil && errors.Is(err, syscall.EADDRINUSE); k++ {
		l, err = Listen(net.JoinHostPort(host, strconv.Itoa(port+k)))
	}
	return l, err
}

// OpenNear opens an explorer of the node at rpc with the default options, and with an evaluator unless it is nil. The
// explorer listens at the default address, or at one of the next ports if the port is in use.
func OpenNear(rpc string, e chainview.Evaluator) (*Server, net.Listener, error) {
	a := home.DefaultAppConfig()
	a.Explorer.Eval = e != nil
	s, err := Open(rpc, OptionsOf(a, e))
	if err != nil {
		return nil, nil, err
	}
	l, err := ListenNear(a.Explorer.Laddr)
	return s, l, err
}

// Beside serves the explorer in the node's process if app.toml enables it. It is a node.Hooks.StartServices. The
// explorer reads the node's RPC like any client, and if it fails after its start the node continues.
func Beside(ctx context.Context, n node.ServiceContext) (ended <-chan struct{}, err error) {
	if !n.App.Explorer.Enabled {
		return nil, nil
	}
	if n.RPC == "" {
		return nil, fmt.Errorf("explorer: it reads the node's RPC, and rpc.laddr of config.toml is empty")
	}
	logger := n.Logger.With("module", "explorer")
	o := OptionsOf(n.App, n.Evaluator)
	o.Log = logger.Info
	s, err := Open(home.Reachable(n.RPC), o)
	if err != nil {
		return nil, err
	}
	l, err := Listen(n.App.Explorer.Laddr)
	if err != nil {
		return nil, err
	}
	logger.Info("explorer", "address", "http://"+l.Addr().String())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer n.Evaluator.Close()
		if err := s.Serve(ctx, l); err != nil {
			logger.Error("explorer stopped", "err", err)
		}
	}()
	return done, nil
}
