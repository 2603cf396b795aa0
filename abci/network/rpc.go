package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/libs/pubsub"
	cmtnode "github.com/cometbft/cometbft/node"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	grpccore "github.com/cometbft/cometbft/rpc/grpc"
	rpcserver "github.com/cometbft/cometbft/rpc/jsonrpc/server"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"
	"github.com/cometbft/cometbft/types"
	"github.com/rs/cors"
	"golang.org/x/net/netutil"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/home"
)

// RPC is the running RPC of a node.
type RPC struct {
	listeners []net.Listener
	servers   sync.WaitGroup // waits for the goroutines that accept connections
}

// Close closes the listeners, and returns when no further connection is accepted. Open connections
// stay open, as with CometBFT's own RPC. r may be nil.
func (r *RPC) Close() (err error) {
	if r == nil {
		return nil
	}
	for _, l := range r.listeners {
		err = errors.Join(err, l.Close())
	}
	r.servers.Wait()
	return err
}

// ServeRPC serves the RPC of a node that is built and not yet started: CometBFT's routes, as CometBFT's startRPC does,
// and abci.TxsPath on the same listeners. It sets rpc.laddr in the node's configuration to "", because CometBFT would
// listen there too. If rpc.laddr is empty, ServeRPC does nothing. hosts are the host names in requests over loopback,
// beside addresses and localhost. The caller must close the result after an error of the node's start, too.
func ServeRPC(node *cmtnode.Node, hosts []string) (*RPC, error) {
	c := *node.Config().RPC
	if c.ListenAddress == "" {
		return nil, nil
	}
	env, err := node.ConfigureRPC()
	if err != nil {
		return nil, err
	}
	node.Config().RPC.ListenAddress = ""
	routes := env.GetRoutes()
	if c.Unsafe {
		env.AddUnsafeRoutes(routes)
	}
	s := rpcService{&c, hosts, routes, env.BroadcastTxSync, func(remote string) error {
		return node.EventBus().UnsubscribeAll(context.Background(), remote)
	}, node.Logger.With("module", "rpc-server")}
	all, err := s.serve()
	if err != nil || c.GRPCListenAddress == "" {
		return all, err
	}
	l, err := listen(c.GRPCListenAddress, c.GRPCMaxOpenConnections)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	all.listeners = append(all.listeners, l)
	all.servers.Go(func() {
		//nolint:staticcheck // SA1019: deprecated, and still what CometBFT serves at rpc.grpc_laddr
		s.logEnd(grpccore.StartGRPCServer(env, l))
	})
	return all, nil
}

// rpcService is what the listeners of rpc.laddr serve.
type rpcService struct {
	conf         *config.RPCConfig
	hosts        []string // host names in requests over loopback
	routes       map[string]*rpcserver.RPCFunc
	broadcast    func(*rpctypes.Context, types.Tx) (*coretypes.ResultBroadcastTx, error)
	onDisconnect func(remote string) error // ends the subscriptions of a websocket
	log          log.Logger
}

// serve listens and serves on each address of rpc.laddr.
func (s rpcService) serve() (*RPC, error) {
	limits := rpcserver.DefaultConfig()
	limits.MaxRequestBatchSize, limits.MaxOpenConnections = s.conf.MaxRequestBatchSize, s.conf.MaxOpenConnections
	limits.MaxBodyBytes, limits.MaxHeaderBytes = s.conf.MaxBodyBytes, s.conf.MaxHeaderBytes
	if limits.WriteTimeout <= s.conf.TimeoutBroadcastTxCommit {
		limits.WriteTimeout = s.conf.TimeoutBroadcastTxCommit + time.Second
	}
	handler, outer := s.handler(limits), *limits
	outer.MaxRequestBatchSize = 0 // counted by the handler, for JSON-RPC alone
	all := new(RPC)
	for _, at := range strings.FieldsFunc(s.conf.ListenAddress, func(r rune) bool { return r == ',' || r == ' ' }) {
		l, err := listen(at, limits.MaxOpenConnections)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.listeners = append(all.listeners, l)
	}
	for _, l := range all.listeners {
		all.servers.Go(func() {
			if s.conf.IsTLSEnabled() {
				s.logEnd(rpcserver.ServeTLS(l, handler, s.conf.CertFile(), s.conf.KeyFile(), s.log, &outer))
			} else {
				s.logEnd(rpcserver.Serve(l, handler, s.log, &outer))
			}
		})
	}
	return all, nil
}

// listen listens as CometBFT's RPC does, and on a Unix socket as home.Listen does.
func listen(address string, maxOpenConnections int) (net.Listener, error) {
	l, err := home.Listen(address, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	if maxOpenConnections > 0 {
		l = netutil.LimitListener(l, maxOpenConnections)
	}
	return l, nil
}

// logEnd logs the error with which a server ended, unless its listener was closed.
func (s rpcService) logEnd(err error) {
	if err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Error("the RPC has ended", "err", err)
	}
}

// handler returns the handler of all paths. CometBFT's server, which calls it, limits the bodies and
// recovers from panics.
func (s rpcService) handler(limits *rpcserver.Config) http.Handler {
	mux, wsLog := http.NewServeMux(), s.log.With("protocol", "websocket")
	ws := rpcserver.NewWebsocketManager(s.routes, rpcserver.OnDisconnect(func(remote string) {
		if err := s.onDisconnect(remote); err != nil && !errors.Is(err, pubsub.ErrSubscriptionNotFound) {
			wsLog.Error("the subscriptions of a websocket did not end", "addr", remote, "err", err)
		}
	}), rpcserver.ReadLimit(limits.MaxBodyBytes), rpcserver.WriteChanCapacity(s.conf.WebSocketWriteBufferSize))
	ws.SetLogger(wsLog)
	mux.HandleFunc("/websocket", ws.WebsocketHandler)
	rpcserver.RegisterRPCFuncs(mux, s.routes, s.log)
	rpc, isOrigin := http.Handler(mux), func(*http.Request) bool { return false }
	if s.conf.IsCorsEnabled() {
		c := cors.New(cors.Options{AllowedOrigins: s.conf.CORSAllowedOrigins, AllowedMethods: s.conf.CORSAllowedMethods,
			AllowedHeaders: s.conf.CORSAllowedHeaders})
		rpc, isOrigin = c.Handler(mux), c.OriginAllowed
	}
	rpc = rpcserver.PreChecksHandler(rpc, limits)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want := "application/json"
		if r.URL.Path == abci.TxsPath {
			want = abci.TxsType
		}
		code, why := s.refusal(r, want, isOrigin)
		switch {
		case code != 0:
			http.Error(w, why, code)
		case want == abci.TxsType:
			s.serveTxs(w, r)
		default:
			rpc.ServeHTTP(w, r)
		}
	})
}

// refusal returns the status and the text with which a request is refused, or 0. want is the content
// type of a body, and isOrigin reports whether pages of a request's origin are allowed.
func (s rpcService) refusal(r *http.Request, want string, isOrigin func(*http.Request) bool) (code int, why string) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" after an error
	switch {
	case isOverLoopback(r) && !home.IsOwnHost(r.Host, s.hosts):
		return http.StatusMisdirectedRequest, fmt.Sprintf("host %.64q is not served here: list it in api.hosts of app.toml",
			r.Host)
	case isOverLoopback(r) && isForeign(r) && !isOrigin(r):
		return http.StatusForbidden, fmt.Sprintf("origin %.64q is not served here: list it in rpc.cors_allowed_origins of "+
			"config.toml", r.Header.Get("Origin"))
	case r.Method == http.MethodPost && kind != want:
		// A web page of another origin can post other types without a preflight.
		return http.StatusUnsupportedMediaType, fmt.Sprintf("content type %.64q, want %s", kind, want)
	}
	return 0, ""
}

// isOverLoopback reports whether a request came to a loopback address, where only programs of this
// host send requests: among them browsers, with pages of any site.
func isOverLoopback(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

// isForeign reports whether a page of another origin has sent a request.
func isForeign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	_, host, _ := strings.Cut(origin, "://")
	return origin != "" && !strings.EqualFold(host, r.Host)
}

// serveTxs passes each transaction of a request to CheckTx, and answers with the verdicts, in order.
func (s rpcService) serveTxs(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, fmt.Sprintf("method %.16q, want POST", r.Method), http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, fmt.Sprintf("body of more than %d bytes (rpc.max_body_bytes)", tooLarge.Limit),
			http.StatusRequestEntityTooLarge)
		return
	}
	var txs [][]byte
	if err == nil {
		txs, err = decodeTxs(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answer bytes.Buffer
	for _, raw := range txs {
		if err := abcitypes.WriteMessage(s.verdict(r, raw), &answer); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", abci.TxsType)
	_, _ = w.Write(answer.Bytes()) // an error means that the client has gone
}

// verdict returns CheckTx's verdict on a transaction or, as an exception, the error of the mempool.
func (s rpcService) verdict(r *http.Request, raw []byte) *abcitypes.Response {
	v, err := s.broadcast(&rpctypes.Context{HTTPReq: r}, raw)
	if err != nil {
		return abcitypes.ToResponseException(err.Error())
	}
	return abcitypes.ToResponseCheckTx(&abcitypes.ResponseCheckTx{Code: v.Code, Log: v.Log})
}

// decodeTxs decodes the 1 to abci.MaxTxs transactions of a tendermint.mempool.Txs. The generated
// decoder would first allocate memory for any number of empty transactions.
func decodeTxs(body []byte) (txs [][]byte, err error) {
	for len(body) > 0 {
		field, kind, n := protowire.ConsumeTag(body)
		if n < 0 || field != 1 || kind != protowire.BytesType {
			return nil, fmt.Errorf("transaction %d of the body is no field 1 of tendermint.mempool.Txs", len(txs))
		}
		raw, m := protowire.ConsumeBytes(body[n:])
		if m < 0 {
			return nil, fmt.Errorf("transaction %d of the body: %w", len(txs), protowire.ParseError(m))
		}
		if len(txs) == abci.MaxTxs {
			return nil, fmt.Errorf("more than %d transactions in a request", abci.MaxTxs)
		}
		txs, body = append(txs, bytes.Clone(raw)), body[n+m:]
	}
	if len(txs) == 0 {
		return nil, fmt.Errorf("0 transactions in a request, want 1 to %d", abci.MaxTxs)
	}
	return txs, nil
}
