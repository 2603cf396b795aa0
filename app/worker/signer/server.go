package signer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/consent"
)

// Policy says which requests a Server signs.
type Policy struct {
	ChainID string // the id of the only chain for which the server signs
	// Allow lists the kinds of operations that the server signs, such as "approve", and Consent.
	// Gradients, commitments and aggregates need no entry.
	Allow []string
	// Rate limits the average number of signatures a second, over all clients.
	Rate float64
}

// Server answers the requests of Clients with a Local signer.
type Server struct {
	signer *worker.Local
	policy Policy
	limit  *rate.Limiter
	slots  chan struct{} // holds an element for each request in memory
	log    func(message string, keyvals ...any)
	refuse func(message string, keyvals ...any) // logs rejected requests at a limited rate
}

// maxAtOnce is the max number of requests in memory at once. Further requests wait.
const maxAtOnce = 4

// NewServer returns a server that signs with a local signer.
func NewServer(s *worker.Local, p Policy, log func(string, ...any)) *Server {
	burst := max(1, int(4*p.Rate))
	return &Server{signer: s, policy: p, limit: rate.NewLimiter(rate.Limit(p.Rate), burst),
		slots: make(chan struct{}, maxAtOnce), log: log, refuse: limitRate(log)}
}

// limitRate returns a function that passes at most 10 messages a second to log, after a burst of
// 100, because a client decides the number of messages.
func limitRate(log func(string, ...any)) func(string, ...any) {
	limit := rate.NewLimiter(10, 100)
	return func(message string, keyvals ...any) {
		if limit.Allow() {
			log(message, keyvals...)
		}
	}
}

// Serve answers the requests of a listener until ctx ends. It returns nil after ctx has ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathKeys, handle(s, s.keys))
	mux.HandleFunc("POST "+pathOpen, handle(s, s.openJournal))
	mux.HandleFunc("POST "+pathGradient, handle(s, s.gradient))
	mux.HandleFunc("POST "+pathCommit, handle(s, message(s, tx.KindCommit, s.signer.Commit)))
	mux.HandleFunc("POST "+pathAggregate, handle(s, message(s, tx.KindAggregate, s.signer.Aggregate)))
	mux.HandleFunc("POST "+pathOperation, handle(s, s.signOperation))
	mux.HandleFunc("POST "+pathConsent, handle(s, s.signConsent))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: time.Minute, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(wait) // a request that is still open after 5 s fails
		close(ended)
	})
	err := server.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// handle returns a handler that decodes a request, rejects unknown fields, and answers with the result of f.
func handle[Q, A any](s *Server, f func(context.Context, *Q) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-r.Context().Done():
			return
		}
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		request := new(Q)
		var out any
		err := d.Decode(request)
		if err == nil {
			out, err = f(r.Context(), request)
		}
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			text := clipText(err)
			s.refuse("request rejected", "path", r.URL.Path, "err", text)
			w.WriteHeader(http.StatusConflict)
			out = refusal{text, kindOf(err)}
		}
		_ = json.NewEncoder(w).Encode(out) // if the answer is lost, the client asks again
	}
}

// clipText returns the text of a value, cut to at most maxRefusal bytes, for an answer or the log.
func clipText(value any) string {
	text := fmt.Sprint(value)
	return text[:min(len(text), maxRefusal)]
}

// checkChain returns ErrForeign for every chain except the policy's chain.
func (s *Server) checkChain(chainID string) error {
	if chainID != s.policy.ChainID {
		return fmt.Errorf("%w: the request is for chain %q, this signer signs for %q", worker.ErrForeign, chainID,
			s.policy.ChainID)
	}
	return nil
}

// admit rejects a request for another chain (ErrForeign), and a request beyond the rate (ErrRate).
func (s *Server) admit(chainID string) error {
	if err := s.checkChain(chainID); err != nil {
		return err
	}
	if !s.limit.Allow() {
		return fmt.Errorf("%w: more than %g signatures a second (signer.rate of its app.toml)", worker.ErrRate, s.policy.Rate)
	}
	return nil
}

func (s *Server) keys(ctx context.Context, r *keysRequest) (worker.PublicKeys, error) {
	return s.signer.Keys(ctx, r.Reload)
}

// openJournal opens the journal and returns its record without the aggregates: all aggregates
// together could exceed maxRequest, and a worker asks for each aggregate separately.
func (s *Server) openJournal(ctx context.Context, r *openRequest) (*worker.Record, error) {
	if err := s.checkChain(r.ChainID); err != nil {
		return nil, err
	}
	record, err := s.signer.Open(ctx, r.ChainID, r.ID)
	if err == nil {
		record.Entry.Aggregates = nil
	}
	return record, err
}

func (s *Server) gradient(ctx context.Context, r *worker.GradientRequest) (answer, error) {
	if err := s.admit(r.ChainID); err != nil {
		return answer{}, err
	}
	return answerOf(s.signer.Gradient(ctx, r))
}

// message returns the function that admits a round's message of a kind, and lets sign sign it.
func message[B tx.Body](s *Server, kind tx.Kind, sign func(context.Context, string, B) (*tx.Tx, error),
) func(context.Context, *contentRequest) (answer, error) {
	return func(ctx context.Context, r *contentRequest) (answer, error) {
		body, err := admitMessage[B](s, r, kind)
		if err != nil {
			return answer{}, err
		}
		return answerOf(sign(ctx, r.ChainID, body))
	}
}

// signOperation signs an operation if the policy allows its kind.
func (s *Server) signOperation(_ context.Context, r *contentRequest) (answer, error) {
	if ofRound(r.Kind) {
		return answer{}, fmt.Errorf("%w: a %s is no operation", ErrDenied, r.Kind)
	}
	if err := s.checkAllowed(r.Kind.String()); err != nil && r.Kind != tx.KindPresent {
		return answer{}, err
	}
	body, err := admitMessage[tx.Body](s, r, r.Kind)
	if err != nil {
		return answer{}, err
	}
	var t *tx.Tx
	err = s.signer.UseKeys(func(k worker.Keys) error {
		t, err = tx.Sign(r.ChainID, body, k.Signing)
		return err
	})
	if err == nil {
		s.log("operation signed", "kind", r.Kind, "content", clipText(body))
	}
	return answerOf(t, err)
}

// signConsent signs a record of consent if the policy allows it.
func (s *Server) signConsent(_ context.Context, r *consentRequest) (out consent.Record, err error) {
	if err := s.checkAllowed(Consent); err != nil {
		return out, err
	}
	if err := s.admit(r.Subject.ChainID); err != nil {
		return out, err
	}
	err = s.signer.UseKeys(func(k worker.Keys) error {
		out, err = consent.Sign(r.Subject, r.Decision, time.Now(), k.Signing)
		return err
	})
	if err == nil {
		s.log("consent signed", "epoch", r.Subject.Epoch, "parameters", clipText(r.Subject.Params), "decision", r.Decision)
	}
	return out, err
}

// checkAllowed returns ErrDenied if the given word is not in Policy.Allow.
func (s *Server) checkAllowed(word string) error {
	if !slices.Contains(s.policy.Allow, word) {
		return fmt.Errorf("%w: signer.allow of its app.toml has no %q", ErrDenied, word)
	}
	return nil
}

// admitMessage admits a request, and decodes the request's content as a message of the given kind.
func admitMessage[B tx.Body](s *Server, r *contentRequest, kind tx.Kind) (b B, err error) {
	if err := s.admit(r.ChainID); err != nil {
		return b, err
	}
	if r.Kind != kind {
		return b, fmt.Errorf("%w: a %s, want a %s", ErrDenied, r.Kind, kind)
	}
	body, err := tx.DecodeBody(kind, r.Content)
	if err != nil {
		return b, err
	}
	return body.(B), nil
}

func answerOf(t *tx.Tx, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{t.Raw}, nil
}
