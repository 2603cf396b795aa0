// Package explorer serves people what a node knows of the training: the pages of package pages, and rounds,
// participants and models as JSON under /v1.
//
// The explorer only reads, through the node's public RPC, and trusts neither the node nor its clients. Its
// Content-Security-Policy blocks what the escaping of the pages misses. It answers only GET and HEAD requests without a
// body, up to a rate for each client. Every answer is made once per look at the chain, whatever the number of readers.
package explorer

import (
	"cmp"
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
	// APIConfig limits hosts, requests and connections. A field that is 0 has the default of app.toml.
	home.APIConfig
	// Poll is the interval between two looks at the chain, default one second. The explorer renders
	// an answer once per look, and sends streams all rounds between two looks together.
	Poll time.Duration
	// Log receives messages for the operator. Default none.
	Log func(string, ...any)
}

func (o *Options) complete() {
	usual := home.DefaultAppConfig().API
	o.Rate, o.Burst = cmp.Or(o.Rate, usual.Rate), cmp.Or(o.Burst, usual.Burst)
	o.MaxConnections = cmp.Or(o.MaxConnections, usual.MaxConnections)
	o.MaxStreams = cmp.Or(o.MaxStreams, usual.MaxStreams)
	o.StreamsPerClient = cmp.Or(o.StreamsPerClient, usual.StreamsPerClient)
	if o.Poll = cmp.Or(o.Poll, time.Second); o.Log == nil {
		o.Log = func(string, ...any) {}
	}
}

// OptionsOf returns the explorer's options in app.toml. It uses the evaluator only if explorer.eval is set.
func OptionsOf(a home.AppConfig, e chainview.Evaluator) Options {
	o := Options{APIConfig: a.API}
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
