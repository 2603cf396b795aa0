package worker_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/consent"
	"github.com/spdl/spdl/app/worker/signer"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
)

var id = []byte{7}

// served is a server that a test kills and starts again. Its journal is released as when its process
// ends.
type served struct {
	*testing.T
	address, certificates, journal string
	policy                         signer.Policy
	stop                           func()
}

func serve(t *testing.T, address, certificates string) *served {
	t.Helper()
	s := &served{T: t, address: address, certificates: certificates, journal: filepath.Join(t.TempDir(), "journal.json"),
		policy: signer.Policy{ChainID: apptest.ChainID, Allow: []string{"approve", signer.Consent}, Rate: 1000}}
	require.NoError(t, worker.NewJournal(s.journal))
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *served) start() {
	s.Helper()
	nothing := func(string, ...any) {}
	l, err := signer.Listen(s.address, s.certificates, nil, nothing)
	require.NoError(s, err)
	local := worker.NewLocal(worker.Keys{Signing: apptest.Key(0), VRF: apptest.VRFKey(0)}, nil, s.journal)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- signer.NewServer(local, s.policy, nothing).Serve(ctx, l) }()
	s.stop = func() {
		cancel()
		require.NoError(s, <-done)
		require.NoError(s, local.Close())
	}
}

func onSocket(t *testing.T) string {
	dir, err := os.MkdirTemp("", "s") // a socket's path has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return "unix://" + filepath.Join(dir, "s.sock")
}

func dial(t *testing.T, address, certificates string) *signer.Client {
	t.Helper()
	c, err := signer.New(address, certificates)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func request(round uint64, payload byte) *worker.GradientRequest {
	return &worker.GradientRequest{Place: worker.Place{ChainID: apptest.ChainID, ID: id, Round: round}, Seed: []byte{1},
		Unit:    "example",
		Payload: []byte{payload}}
}

// TestOneSignatureAPlace: a node cannot get two gradients, aggregates or commitments for one place,
// nor anything for another chain, whatever is restarted; the same bytes get the same signature.
func TestOneSignatureAPlace(t *testing.T) {
	s := serve(t, onSocket(t), "")
	c, ctx := dial(t, s.address, ""), context.Background()
	keys, err := c.Keys(ctx, false)
	require.NoError(t, err)
	require.Equal(t, apptest.Identity(0).PubKey, []byte(keys.Signing))
	_, err = c.Gradient(ctx, request(3, 1))
	require.ErrorIs(t, err, worker.ErrSigner, "the journal is not open yet")
	record, err := c.Open(ctx, apptest.ChainID, id)
	require.NoError(t, err)
	require.True(t, record.NewHome)

	first, err := c.Gradient(ctx, request(3, 1))
	require.NoError(t, err)
	require.NoError(t, first.Verify(apptest.ChainID, keys.Signing))
	_, err = first.VerifyVRF(keys.VRF, leader.Input(apptest.ChainID, 0, 3, []byte{1}))
	require.NoError(t, err)
	lead := &tx.Aggregate{Round: 3, Digest: make([]byte, 32)}
	aggregate, err := c.Aggregate(ctx, apptest.ChainID, lead)
	require.NoError(t, err)
	other := &tx.Aggregate{Round: 3, Digest: append(make([]byte, 31), 1)}
	for range 2 {
		again, err := c.Gradient(ctx, request(3, 1))
		require.NoError(t, err)
		require.Equal(t, first.Raw, again.Raw)
		_, err = c.Gradient(ctx, request(3, 2))
		require.ErrorIs(t, err, worker.ErrSigned)
		_, err = c.Gradient(ctx, request(2, 1))
		require.ErrorIs(t, err, worker.ErrJournal)
		seed := request(3, 1)
		seed.Seed = []byte{9}
		again, err = c.Gradient(ctx, seed)
		require.NoError(t, err)
		require.Equal(t, first.Raw, again.Raw, "a round has one VRF proof")

		same, err := c.Aggregate(ctx, apptest.ChainID, other)
		require.NoError(t, err)
		require.Equal(t, aggregate.Raw, same.Raw, "a view has one aggregate")

		unit := request(4, 1)
		unit.Unit = "group:row_id"
		_, err = c.Gradient(ctx, unit)
		require.ErrorIs(t, err, worker.ErrSigned, "the ledger counts for another unit")
		_, err = c.Commit(ctx, apptest.ChainID, &tx.Commit{Round: 3, Hash: make([]byte, 32)})
		require.ErrorIs(t, err, worker.ErrSigned)
		_, err = c.Commit(ctx, apptest.ChainID, &tx.Commit{Round: 3, Hash: first.Content[:]})
		require.NoError(t, err)

		s.stop()
		_, err = c.Gradient(ctx, request(4, 1))
		require.ErrorIs(t, err, worker.ErrSigner)
		s.start()
		record, err = c.Open(ctx, apptest.ChainID, id)
		require.NoError(t, err)
		require.Equal(t, first.Raw, record.Entry.Gradient.Raw)
	}

	foreign := request(5, 1)
	foreign.ChainID = "another"
	_, err = c.Gradient(ctx, foreign)
	require.ErrorIs(t, err, worker.ErrForeign)
	require.NotErrorIs(t, err, worker.ErrSigned)
	require.ErrorContains(t, err, `for chain "another"`)
	_, err = c.Open(ctx, "another", id)
	require.ErrorContains(t, err, `for chain "another"`)
	_, err = c.Open(ctx, apptest.ChainID, []byte{8})
	require.ErrorIs(t, err, worker.ErrForeign)
	poorer := request(5, 1)
	poorer.Spent = []uint64{7}
	_, err = c.Gradient(ctx, poorer)
	require.NoError(t, err)
	poorer = request(6, 1)
	poorer.Spent = []uint64{6}
	_, err = c.Gradient(ctx, poorer)
	require.ErrorContains(t, err, "below the journal's")
}

// TestOperationsByAllowList: the signer signs only operations of the kinds on the list, and never a
// transaction of a round as an operation.
func TestOperationsByAllowList(t *testing.T) {
	s := serve(t, onSocket(t), "")
	c, ctx := dial(t, s.address, ""), context.Background()
	approve := &tx.Approve{Proposal: make([]byte, 32)}
	signed, err := c.Operation(ctx, apptest.ChainID, approve)
	require.NoError(t, err)
	require.NoError(t, signed.Verify(apptest.ChainID, apptest.Identity(0).PubKey))
	_, err = c.Operation(ctx, "another", approve)
	require.ErrorIs(t, err, worker.ErrForeign)
	require.NotErrorIs(t, err, worker.ErrSigned)
	_, err = c.Operation(ctx, apptest.ChainID, &tx.Remove{})
	require.ErrorIs(t, err, signer.ErrDenied)
	require.ErrorContains(t, err, `signer.allow of its app.toml has no "remove"`)
	for _, round := range []tx.Body{&tx.Gradient{}, &tx.Aggregate{}, &tx.Commit{}} {
		_, err = c.Operation(ctx, apptest.ChainID, round)
		require.ErrorIs(t, err, signer.ErrDenied)
		require.ErrorContains(t, err, "is no operation")
	}
	require.NotContains(t, signer.Kinds(), "gradient")
	require.NotContains(t, signer.Kinds(), "rotate", "a node with it makes the participant its own")
}

// TestJournalStaysReadable: the size of the entries that a compromised node can have signed is
// bounded, so that a later worker can read the journal.
func TestJournalStaysReadable(t *testing.T) {
	stage.OnlyLong(t) // its messages have the largest size, and the race detector makes them slower than the client waits
	s := serve(t, onSocket(t), "")
	c, ctx := dial(t, s.address, ""), context.Background()
	_, err := c.Open(ctx, apptest.ChainID, id)
	require.NoError(t, err)
	whole := request(1, 1)
	whole.Payload = make([]byte, 2*gradients.MaxDim)
	_, err = c.Gradient(ctx, whole)
	require.NoError(t, err)
	for _, change := range []func(*worker.GradientRequest){
		func(r *worker.GradientRequest) { r.Payload = make([]byte, 2*gradients.MaxDim+1) },
		func(r *worker.GradientRequest) { r.Spent = make([]uint64, params.LedgerColumns+1) },
		func(r *worker.GradientRequest) { r.Counted = math.MaxUint64 },
		func(r *worker.GradientRequest) { require.NoError(t, json.Unmarshal(longMomentum(), r)) },
	} {
		r := request(2, 1)
		change(r)
		_, err = c.Gradient(ctx, r)
		require.ErrorIs(t, err, worker.ErrSigned)
		require.ErrorContains(t, err, "want at most")
	}
	for view := range uint32(2) { // in base64 both exceed an answer
		lead := &tx.Aggregate{Round: 1, View: view, Delta: make([]byte, 8*gradients.MaxDim)}
		_, err = c.Aggregate(ctx, apptest.ChainID, lead)
		require.NoError(t, err)
	}
	_, err = c.Aggregate(ctx, apptest.ChainID, &tx.Aggregate{Round: 2, Delta: make([]byte, 9*gradients.MaxDim)})
	require.ErrorIs(t, err, worker.ErrDraft)
	s.stop()
	s.start()
	record, err := c.Open(ctx, apptest.ChainID, id)
	require.NoError(t, err)
	require.Equal(t, uint64(1), record.Entry.Signed)
}

// longMomentum is the part of a request with a momentum longer than any model's.
func longMomentum() []byte {
	text := base64.StdEncoding.EncodeToString(make([]byte, 8*gradients.MaxDim+8))
	return []byte(`{"mechanism":{"momentum":"` + text + `"}}`)
}

// TestLongRefusals: neither the answer nor the log repeats a long request, and the log does not
// repeat an unbounded number of refusals.
func TestLongRefusals(t *testing.T) {
	s := serve(t, onSocket(t), "")
	s.stop()
	lines, longest := 0, 0
	l, err := signer.Listen(s.address, "", nil, nil)
	require.NoError(t, err)
	local := worker.NewLocal(worker.Keys{Signing: apptest.Key(0), VRF: apptest.VRFKey(0)}, nil, s.journal)
	var mu sync.Mutex
	log := func(_ string, keyvals ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines++
		longest = max(longest, len(fmt.Sprint(keyvals...)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- signer.NewServer(local, s.policy, log).Serve(ctx, l) }()
	s.stop = func() { cancel(); require.NoError(s, <-done) }
	c := dial(t, s.address, "")
	for range 1000 {
		_, err := c.Open(ctx, strings.Repeat("a", 1<<16), id)
		require.ErrorIs(t, err, worker.ErrForeign)
		require.Less(t, len(err.Error()), 2<<10)
	}
	about := consent.Subject{ChainID: apptest.ChainID, Params: strings.Repeat("a", 1<<16)}
	_, err = c.Consent(ctx, about, consent.Consented)
	require.NoError(t, err)
	_, err = c.Operation(ctx, apptest.ChainID, &tx.Approve{Join: make([]byte, 1<<16)})
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Positive(t, lines)
	require.Less(t, lines, 1000)
	require.Less(t, longest, 2<<10)
}

// TestRequestsAtOnce: the server holds only a few requests in memory, further requests wait, and
// the size of a request is bounded.
func TestRequestsAtOnce(t *testing.T) {
	s := serve(t, onSocket(t), "")
	var held []net.Conn
	for range 4 {
		conn, err := net.Dial("unix", s.address[len("unix://"):])
		require.NoError(t, err)
		_, err = conn.Write([]byte("POST /v1/keys HTTP/1.1\r\nHost: s\r\nContent-Length: 9\r\n\r\n{"))
		require.NoError(t, err)
		held = append(held, conn)
	}
	c := dial(t, s.address, "")
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Keys(ctx, false)
		return errors.Is(err, context.DeadlineExceeded)
	}, time.Minute, time.Millisecond)
	for _, conn := range held {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool {
		_, err := c.Keys(context.Background(), false)
		return err == nil
	}, time.Minute, time.Millisecond)
	_, err := c.Open(context.Background(), strings.Repeat("a", 33<<20), id)
	require.ErrorIs(t, err, worker.ErrSigner)
	require.ErrorContains(t, err, "too large")
}

// TestSocketFolder: no signer listens in a folder where another user could replace its socket.
func TestSocketFolder(t *testing.T) {
	address := onSocket(t)
	dir := filepath.Dir(address[len("unix://"):])
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		require.NoError(t, os.Chmod(dir, mode))
		_, err := signer.Listen(address, "", nil, nil)
		require.ErrorContains(t, err, "other users could replace the socket")
	}
	for _, mode := range []os.FileMode{0o755, 0o777 | os.ModeSticky} {
		require.NoError(t, os.Chmod(dir, mode))
		l, err := signer.Listen(address, "", nil, nil)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

// TestFalseSigner: a process that answers in the signer's place with another transaction does not
// end the worker.
func TestFalseSigner(t *testing.T) {
	address := onSocket(t)
	approve, err := tx.Sign(apptest.ChainID, &tx.Approve{Proposal: make([]byte, 32)}, apptest.Key(0))
	require.NoError(t, err)
	l, err := net.Listen("unix", address[len("unix://"):])
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"raw": approve.Raw})
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	c, ctx := dial(t, address, ""), context.Background()
	_, err = c.Gradient(ctx, request(1, 1))
	require.ErrorIs(t, err, worker.ErrSigner)
	_, err = c.Aggregate(ctx, apptest.ChainID, &tx.Aggregate{})
	require.ErrorIs(t, err, worker.ErrSigner)
	_, err = c.Keys(ctx, false)
	require.ErrorIs(t, err, worker.ErrSigner, "the answer has no keys, and the home would keep them")
}

// TestConsentBySigner: the signer makes the record only for its own chain, and only if its policy
// allows records of consent.
func TestConsentBySigner(t *testing.T) {
	s := serve(t, onSocket(t), "")
	c, ctx := dial(t, s.address, ""), context.Background()
	about, err := consent.SubjectOf(apptest.ChainID, 1, apptest.Params(1))
	require.NoError(t, err)
	record, err := c.Consent(ctx, about, consent.Rejected)
	require.NoError(t, err)
	require.Equal(t, about, record.Subject)
	require.Equal(t, apptest.Identity(0).PubKey, record.PubKey)
	require.NoError(t, consent.Open(filepath.Join(t.TempDir(), "consent.jsonl")).Add(record), "the signature is valid")
	foreign := about
	foreign.ChainID = "another"
	_, err = c.Consent(ctx, foreign, consent.Consented)
	require.ErrorIs(t, err, worker.ErrForeign)
	s.stop()
	s.policy.Allow = nil
	s.start()
	_, err = c.Consent(ctx, about, consent.Consented)
	require.ErrorIs(t, err, signer.ErrDenied)
}

// TestHungSigner: if a signer accepts the connection and never answers, a request ends with its
// context. When the signer has closed its listener, a request fails with ErrSigner, and Away
// returns the reason.
func TestHungSigner(t *testing.T) {
	address := onSocket(t)
	l, err := net.Listen("unix", address[len("unix://"):])
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	c := dial(t, address, "")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = c.Gradient(ctx, request(1, 1))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, l.Close())
	_, err = c.Keys(context.Background(), false)
	require.ErrorIs(t, err, worker.ErrSigner)
	require.Contains(t, c.Away(), "the signer does not answer at unix://")
}

// TestRate: a node that asks too often gets an error, and its signer answers later.
func TestRate(t *testing.T) {
	s := serve(t, onSocket(t), "")
	s.stop()
	s.policy.Rate = 1
	s.start()
	c, ctx := dial(t, s.address, ""), context.Background()
	_, err := c.Open(ctx, apptest.ChainID, id)
	require.NoError(t, err)
	rejected := false
	for round := uint64(1); round < 50 && !rejected; round++ {
		_, err = c.Gradient(ctx, request(round, 1))
		rejected = err != nil
	}
	require.ErrorIs(t, err, worker.ErrRate)
	require.NotErrorIs(t, err, worker.ErrSigner)
	require.ErrorContains(t, err, "more than 1 signatures a second")
	require.Eventually(t, func() bool {
		_, err := c.Gradient(ctx, request(60, 1))
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

// TestPinnedCertificates: each side accepts only the certificate of the other side in its folder.
func TestPinnedCertificates(t *testing.T) {
	root := t.TempDir()
	folder := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, signer.MakePair(folder("stranger"), folder("other")))
	require.NoError(t, signer.MakePair(folder("node"), folder("signer")))
	pin := func(of, at string) {
		data, err := os.ReadFile(filepath.Join(folder(of), signer.OwnCertificate))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder(at), signer.PeerCertificate), data, 0o600))
	}
	pin("signer", "stranger")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "tcp://" + l.Addr().String()
	require.NoError(t, l.Close())
	serve(t, address, folder("signer"))
	ctx := context.Background()
	_, err = dial(t, address, folder("node")).Keys(ctx, false)
	require.NoError(t, err)
	_, err = dial(t, address, folder("stranger")).Keys(ctx, false)
	require.ErrorIs(t, err, worker.ErrSigner)
	pin("stranger", "node")
	_, err = dial(t, address, folder("node")).Keys(ctx, false)
	require.ErrorIs(t, err, worker.ErrSigner)
	require.ErrorContains(t, err, "is not the one of")
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "unix://s.sock", "tls://127.0.0.1:1", "tcp://host", "/run/s.sock"} {
		require.ErrorContains(t, signer.CheckAddress(bad), "want unix:///run/spdl/signer.sock or tcp://host:port", bad)
	}
	address := onSocket(t)
	require.NoError(t, signer.CheckAddress(address))
	serve(t, address, "")
	_, err := signer.Listen(address, "", nil, nil)
	require.ErrorContains(t, err, "another process listens there")
}
