// Package explorer serves people what a node knows of the training: the pages of package pages, and rounds,
// participants and models as JSON under /v1.
//
// The explorer only reads, through the node's public RPC, and trusts neither the node nor its clients. Its
// Content-Security-Policy blocks what the escaping of the pages misses. It answers only GET and HEAD requests without a
// body, up to a rate for each client. Every answer is made once per look at the chain, whatever the number of readers.
package explorer

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/cmd/internal/gain"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/internal/memo"
)

// Options are an explorer's settings. The zero value of a field is its default.
type Options struct {
	// Evaluator measures the model after every round. Default: none.
	Evaluator chainview.Evaluator
	// Own is the CSV file of the member that serves the explorer. What the member gains on its rows is shown on a page for
	// readers at loopback and private addresses. Default: none.
	Own string
	// Predictor gives the rows of Own the probabilities of an external model. Default: none.
	Predictor gain.Predictor
	// Hosts are the host names under which it is served, in lower case, in addition to addresses
	// and localhost; "*" allows any name.
	Hosts []string
	// Rate is the max number of requests a second of one client, default 50. Burst is the max number at once, default 100.
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
	fill(&o.Rate, 50)
	fill(&o.Burst, 100)
	fill(&o.MaxConnections, 512)
	fill(&o.MaxStreams, 256)
	fill(&o.StreamsPerClient, 64)
	if fill(&o.Poll, time.Second); o.Log == nil {
		o.Log = func(string, ...any) {}
	}
}

// fill sets a number that is not above 0 to its default.
func fill[T int | float64 | time.Duration](x *T, value T) {
	if *x <= 0 {
		*x = value
	}
}

// OptionsOf returns the explorer's options in app.toml. It uses the evaluator only if explorer.eval is set.
func OptionsOf(a home.AppConfig, e chainview.Evaluator) Options {
	o := Options{
		Hosts: a.API.HostNames(), Rate: a.API.Rate, Burst: a.API.Burst,
		MaxConnections: a.API.MaxConnections, MaxStreams: a.API.MaxStreams, StreamsPerClient: a.API.StreamsPerClient,
	}
	if a.Explorer.Eval {
		o.Evaluator = e
	}
	if own, ok := e.(interface {
		Own() string
		gain.Predictor
	}); ok && a.Explorer.Gain {
		o.Own, o.Predictor = own.Own(), own
	}
	return o
}

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
	own             own
	node            string // RPC address in the commands on pages
	// export returns the model after a round with its proof. It is nil if there is no node to query.
	export func(ctx context.Context, epoch, round uint64) (*modelfile.File, error)
}
