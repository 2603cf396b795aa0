package light_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// config returns the configuration of a worker of participant 0 with 16 examples of 3 pixels.
func config(t *testing.T) worker.Config {
	journal := filepath.Join(t.TempDir(), "journal.json")
	require.NoError(t, worker.NewJournal(journal))
	set := mnist.Set{Rows: 1, Cols: 3}
	for i := range 16 {
		set.Images = append(set.Images, byte(40*(i%2)), byte(200-40*(i%2)), byte(i))
		set.Labels = append(set.Labels, byte(i%2))
	}
	return worker.Config{
		Keys: worker.Keys{Signing: apptest.Key(0), VRF: apptest.VRFKey(0)}, Journal: journal,
		Source: privacy.NewTestSource(1), Retry: 5 * time.Millisecond,
		Data: func(context.Context, worker.Task) (mnist.Features, error) {
			return worker.Shard(set, apptest.Indices(16), params.Model{Inputs: 3, Classes: 2, Pool: 1, PixelScale: 255},
				inputs.Keep{})
		},
	}
}

func rounds(count uint64) func(*params.Params) {
	return func(p *params.Params) { p.Training.Rounds = count }
}

// TestWorkerTrainsBesideItsNode: the worker trains to the end of the epoch. It follows the blocks,
// takes the node's state if it starts late, and continues from the header that it has stored.
func TestWorkerTrainsBesideItsNode(t *testing.T) {
	for name, late := range map[string]int{"from the first block": 0, "late": 100} {
		n := newNode(t, apptest.ChainID, rounds(6))
		for range late {
			n.block()
		}
		home := light.Home{Kept: filepath.Join(t.TempDir(), "header.json"), MaxAge: time.Minute}
		conf := config(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, worker.Run(ctx, n.chain(t, home), conf), name)
		require.True(t, n.state.Finished(), name)
		require.FileExists(t, home.Kept)
		task, err := first(n.chain(t, home))
		require.NoError(t, err, name)
		require.True(t, task.Finished, name)
		require.Equal(t, n.state.Model, task.Model, name)
	}
}

// lies returns false answers of a node, each with the error that the worker must log.
func lies(n *node) map[string]struct {
	says string
	late int // number of blocks before the worker starts
	lie  func(method string, height int64, answer any) any
} {
	state := func(change func(*app.State)) func(string, int64, any) any {
		return func(method string, _ int64, answer any) any {
			if method != "/kept" {
				return answer
			}
			forged := *n.state
			change(&forged)
			return query.StateAfter{Height: answer.(query.StateAfter).Height, Document: forged.Encode()}
		}
	}
	header := func(signatures int, change func(*types.Block)) func(string, int64, any) any {
		return func(method string, height int64, answer any) any {
			if method != "commit" || height < 3 {
				return answer
			}
			b := *n.make(height, n.blocks[height-1].Time, [32]byte(n.blocks[height-1].AppHash), nil)
			change(&b)
			return &coretypes.ResultCommit{SignedHeader: types.SignedHeader{Header: &b.Header, Commit: n.sign(&b, signatures)}}
		}
	}
	status := func(change func(*coretypes.ResultStatus)) func(string, int64, any) any {
		return func(method string, _ int64, answer any) any {
			if s, ok := answer.(*coretypes.ResultStatus); ok && method == "status" {
				change(s)
			}
			return answer
		}
	}
	return map[string]struct {
		says string
		late int
		lie  func(method string, height int64, answer any) any
	}{
		"no noise": {"proof does not hold", 100,
			state(func(s *app.State) { s.Params.Privacy = params.Privacy{Mechanism: params.MechanismNone, Batch: 16} })},
		"little noise":  {"proof does not hold", 100, state(func(s *app.State) { s.Params.Privacy.NoiseMultiplier = 0.001 })},
		"another round": {"proof does not hold", 100, state(func(s *app.State) { s.Progress.Round++ })},
		"another model": {"proof does not hold", 100,
			state(func(s *app.State) { s.Model = append([]float64{1}, s.Model[1:]...) })},
		"another seed": {"proof does not hold", 100, state(func(s *app.State) { s.Progress.Seed = make([]byte, 32) })},
		"budget unspent": {"proof does not hold", 100, state(func(s *app.State) {
			s.Participants = append([]app.Participant(nil), s.Participants...)
			s.Participants[0].Participations = 7
		})},
		"a block that closes a round": {"proof does not hold", 3, func(method string, height int64, answer any) any {
			if method != "block" || height != 4 { // the last block: no header has the hash of its state yet
				return answer
			}
			b := n.make(height, n.blocks[height-1].Time, [32]byte(n.blocks[height-1].AppHash),
				apptest.Close(n.state, n.state.Height+1, 0))
			return &coretypes.ResultBlock{Block: b}
		}},
		"transactions added": {"proof does not hold", 3, func(method string, height int64, answer any) any {
			if b, ok := answer.(*coretypes.ResultBlock); ok && height == 4 {
				changed := &types.Block{Header: b.Block.Header, LastCommit: b.Block.LastCommit}
				for _, x := range apptest.Close(n.state, n.state.Height+1, 0) {
					changed.Txs = append(changed.Txs, x.Raw)
				}
				return &coretypes.ResultBlock{Block: changed}
			}
			return answer
		}},
		"no block": {"", 3, func(method string, _ int64, answer any) any {
			if method == "block" {
				return &coretypes.ResultBlock{}
			}
			return answer
		}},
		"a round of the future": {"does not have height", 3,
			status(func(s *coretypes.ResultStatus) { s.SyncInfo.LatestBlockHeight += 5 })},
		"header signed by half": {"it takes more than two thirds", 3,
			header(2, func(b *types.Block) { b.AppHash = make([]byte, 32) })},
		"forged header": {"proof does not hold", 3,
			header(4, func(b *types.Block) { b.AppHash = make([]byte, 32) })},
		"other validators": {"header is not trusted", 3,
			header(4, func(b *types.Block) { b.ValidatorsHash = make([]byte, 32) })},
		"header of another chain": {"header is not trusted", 3, header(4, func(b *types.Block) { b.ChainID = "another" })},
		"name of another chain": {"the node is on chain", 3,
			status(func(s *coretypes.ResultStatus) { s.NodeInfo.Network = "another" })},
		"it catches up": {"the node is behind its chain", 3,
			status(func(s *coretypes.ResultStatus) { s.SyncInfo.CatchingUp = true })},
		"heights that are hidden": {"more than 50ms ago", 3,
			status(func(s *coretypes.ResultStatus) { s.SyncInfo.LatestBlockHeight = 2 })},
		"a height below the genesis": {"has height -7", 3,
			status(func(s *coretypes.ResultStatus) { s.SyncInfo.LatestBlockHeight = -7 })},
	}
}

// TestLyingNodeGetsNoGradient: the worker logs an answer that does not follow from the home's
// genesis, and signs nothing.
func TestLyingNodeGetsNoGradient(t *testing.T) {
	for name := range lies(newNode(t, apptest.ChainID)) {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, apptest.ChainID)
			c := lies(n)[name]
			for range c.late {
				n.block()
			}
			n.lie = c.lie
			home := light.Home{MaxAge: time.Minute}
			if strings.Contains(c.says, "50ms") {
				home.MaxAge = 50 * time.Millisecond
				time.Sleep(2 * home.MaxAge)
			}
			hear(t, n, home, c.says)
			require.Empty(t, n.sent)
		})
	}
}

// hear runs a worker until it logs a text, and for a moment more.
func hear(t *testing.T, n *node, home light.Home, something string) {
	t.Helper()
	conf := config(t)
	heard := make(chan struct{}, 1)
	conf.Log = func(message string, _ ...any) {
		if strings.Contains(message, something) {
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, n.chain(t, home), conf) }()
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Errorf("the worker did not say %q", something)
	}
	time.Sleep(100 * time.Millisecond)
	cancel()
	require.Error(t, <-done)
}

// TestTrustBeginsInTheHome: trust begins with the home's genesis, with the header that its operator
// trusts, or with the last header that the home verified, and with nothing else.
func TestTrustBeginsInTheHome(t *testing.T) {
	n := newNode(t, apptest.ChainID)
	for range 10 {
		n.block()
	}
	at := func(height int64) light.Trust { return light.Trust{Height: height, Hash: n.blocks[height-1].Hash()} }
	wrong := light.Trust{Height: 5, Hash: make([]byte, 32)}
	expired := at(5)
	expired.Period = time.Nanosecond
	other := newNode(t, apptest.ChainID, rounds(7)) // another genesis with the same validators
	strangers := *n.doc
	strangers.Validators = newNode(t, "strangers").doc.Validators
	keep := func(b *types.Block) string {
		path := filepath.Join(t.TempDir(), "header.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"chain_id":"spdl-test","height":`+string('0'+rune(b.Height))+
			`,"hash":"`+b.Hash().String()+`"}`), 0o600))
		return path
	}
	damaged := filepath.Join(t.TempDir(), "header.json")
	require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o600))
	twice := filepath.Join(t.TempDir(), "header.json")
	require.NoError(t, os.WriteFile(twice, []byte(`{"height": 5, "height": 0}`), 0o600))
	for name, c := range map[string]struct {
		home light.Home
		says string
	}{
		"genesis":                      {light.Home{}, ""},
		"trusted header":               {light.Home{Trust: at(5)}, ""},
		"kept header":                  {light.Home{Kept: keep(n.blocks[6])}, ""},
		"another genesis":              {light.Home{Genesis: other.doc}, "begins with application hash"},
		"validators of another":        {light.Home{Genesis: &strangers}, "those of the home's genesis are"},
		"trusted header of another":    {light.Home{Trust: wrong}, "trusted is 00"},
		"kept header of another chain": {light.Home{Kept: keep(other.blocks[0]), Genesis: other.doc}, "trusted is"},
		"damaged file":                 {light.Home{Kept: damaged}, "remove the file"},
		"file of two heights":          {light.Home{Kept: twice}, "height is given twice"},
		"outside the trusting period":  {light.Home{Trust: expired}, "worker.trust_height"},
	} {
		_, err := first(n.chain(t, c.home))
		if c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.says, name)
		}
	}
}

// TestWorkerFollowsItsValidators: a worker follows changes of the validator set through blocks, and
// over a skip to a set without any of the first validators. It rejects a set that the previous
// header does not announce.
func TestWorkerFollowsItsValidators(t *testing.T) {
	for _, blocks := range []int{30, 150} {
		n := newNode(t, apptest.ChainID)
		n.every = 3
		for range blocks {
			n.block()
		}
		_, err := first(n.chain(t, light.Home{}))
		require.NoError(t, err, blocks)
		n.every = 2
		n.block()
		_, err = first(n.chain(t, light.Home{}))
		require.ErrorIs(t, err, light.ErrNotTrusted, blocks)
	}
}

// TestRoundsOnlyGrow: a worker does not follow a node that went back to earlier blocks.
func TestRoundsOnlyGrow(t *testing.T) {
	n := newNode(t, apptest.ChainID)
	for range 5 {
		n.block()
	}
	chain := n.chain(t, light.Home{})
	_, err := first(chain)
	require.NoError(t, err)
	n.lie = func(method string, _ int64, answer any) any {
		if s, ok := answer.(*coretypes.ResultStatus); ok && method == "status" {
			s.SyncInfo.LatestBlockHeight = 3
		}
		return answer
	}
	_, err = first(chain)
	require.ErrorIs(t, err, light.ErrStale)
}

// TestDraftsAreMadeAgain: the worker recomputes a draft, and does not sign a draft whose Delta does
// not follow from its gradients.
func TestDraftsAreMadeAgain(t *testing.T) {
	change := func(f func(*query.Lead)) func(string, int64, any) any {
		return func(method string, _ int64, answer any) any {
			if lead, ok := answer.(query.Lead); ok && method == "/lead/0" {
				copied := *lead.Draft
				lead.Draft = &copied
				f(&lead)
				return lead
			}
			return answer
		}
	}
	for name, c := range map[string]struct {
		says string
		lie  func(string, int64, any) any
	}{
		"truth": {"", nil},
		"another Delta": {"recomputed from its gradients",
			change(func(l *query.Lead) { l.Draft.Digest = make([]byte, 32) })},
		"no gradients":         {"is not there", change(func(l *query.Lead) { l.Gradients = nil })},
		"another's gradient":   {"is not there", change(func(l *query.Lead) { l.Gradients = [][]byte{apptest.Join(3).Raw} })},
		"another leader":       {"is not active", change(func(l *query.Lead) { l.Draft.Leader = 1 })},
		"a view that is none":  {"the last is", change(func(l *query.Lead) { l.Draft.View = 9 })},
		"no draft":             {"has no draft", change(func(l *query.Lead) { l.Draft = nil })},
		"gradient of no shape": {"gradient 0", change(func(l *query.Lead) { l.Gradients[0] = []byte("x") })},
	} {
		n := newNode(t, apptest.ChainID)
		n.hold = true
		n.pending = []*tx.Tx{apptest.Gradient(n.state, 0)}
		n.lie = c.lie
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		draft, err := n.chain(t, light.Home{}).Lead(ctx, 0)
		if c.says == "" {
			require.NoError(t, err, name)
			require.NotNil(t, draft, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
		require.Nil(t, draft, name)
	}
}

// TestWorkersShareOneQuestion: a hundred workers that wait for a round send no more requests than
// one worker.
func TestWorkersShareOneQuestion(t *testing.T) {
	n := newNode(t, apptest.ChainID)
	for range 3 {
		n.block()
	}
	var asked atomic.Int64
	n.lie = func(method string, _ int64, answer any) any {
		if method == "status" {
			asked.Add(1)
		}
		return answer
	}
	chain := n.chain(t, light.Home{})
	task, err := first(chain)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	asked.Store(0)
	begin := time.Now()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { _, _ = chain.Await(ctx, task.Participant.PubKey, task) })
	}
	wg.Wait()
	require.Positive(t, asked.Load())
	require.LessOrEqual(t, asked.Load(), time.Since(begin).Milliseconds()+2, "one a poll of a millisecond, at both "+
		"ends, and one that was under way")
}

// TestWorkersLeaveAHungNode: the first of two nodes accepts connections and answers nothing from
// round 2 on. The worker trains to the end, because it follows the second node and sends its
// gradients there. Without another node each request would wait for a minute.
func TestWorkersLeaveAHungNode(t *testing.T) {
	n := newNode(t, apptest.ChainID, rounds(6))
	var hung atomic.Bool
	n.lie = func(_ string, _ int64, answer any) any {
		if n.state.Progress.Round >= 2 {
			hung.Store(true)
		}
		return answer
	}
	over := make(chan struct{})
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hung.Load() {
			<-over
			return
		}
		n.ServeHTTP(w, r)
	}))
	defer first.Close()
	defer close(over)
	second := httptest.NewServer(n)
	defer second.Close()
	var clients []*client.Client
	for _, s := range []*httptest.Server{first, second} {
		c, err := client.New(s.URL)
		require.NoError(t, err)
		clients = append(clients, c)
	}
	chain, err := light.Chain(clients, light.Home{Genesis: n.doc}, time.Millisecond)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, worker.Run(ctx, chain, config(t)))
	require.True(t, hung.Load())
	require.True(t, n.state.Finished())
}

// TestRefusalOfANodeThatIsBehind: a refusal by a node that is not the current node is no verdict if
// the current node takes the transaction.
func TestRefusalOfANodeThatIsBehind(t *testing.T) {
	n := newNode(t, apptest.ChainID)
	n.hold = true
	behind := newNode(t, apptest.ChainID) // of another chain: it refuses all gradients of this one
	behind.state.ChainID = "behind"
	var clients []*client.Client
	for _, s := range []*httptest.Server{httptest.NewServer(n), httptest.NewServer(behind)} {
		defer s.Close()
		c, err := client.New(s.URL)
		require.NoError(t, err)
		clients = append(clients, c)
	}
	chain, err := light.Chain(clients, light.Home{Genesis: n.doc}, time.Millisecond)
	require.NoError(t, err)
	for range 8 { // either node is the first to take a transaction
		n.pending = nil
		require.NoError(t, chain.Submit(t.Context(), apptest.Gradient(n.state, 0)))
		require.Len(t, n.pending, 1)
	}
	require.Empty(t, behind.pending)
}
