package abci_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// drive closes rounds on all nodes together: every node's pool gets the gradients and the leader's
// aggregate, and the nodes propose in turn.
func drive(t *testing.T, nodes []*node, s *app.State, rounds int) *app.State {
	t.Helper()
	for range rounds {
		height := int64(s.Height + 1)
		block := apptest.Close(s, s.Height+1)
		for _, n := range nodes {
			for _, x := range block {
				require.Equal(t, abci.CodeOK, n.check(x).Code)
			}
		}
		proposed := nodes[int(height)%len(nodes)].prepare(height)
		require.Equal(t, raws(block), proposed, "the aggregate and its gradients, from the pool")
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: block})
		require.NoError(t, err)
		s = out.State
		hash := s.Hash()
		for _, n := range nodes {
			require.True(t, n.process(height, proposed))
			r := n.finalize(height, proposed)
			require.Equal(t, hash[:], r.AppHash)
			require.Len(t, r.TxResults, len(proposed))
			n.commit()
		}
	}
	return s
}

func TestRounds(t *testing.T) {
	nodes := []*node{begin(t, 4), begin(t, 4), begin(t, 4)}
	s := drive(t, nodes, apptest.State(4), 10)
	for _, n := range nodes {
		info, err := n.Info(ctx, &abcitypes.RequestInfo{})
		require.NoError(t, err)
		hash := s.Hash()
		require.Equal(t, hash[:], info.LastBlockAppHash)
		require.Equal(t, int64(10), info.LastBlockHeight)
	}
}

// TestCrash stops a node between any two verbs and opens it again on its database, as after a kill.
// Info returns the last committed height, and the replay of the blocks after it gives the same
// hashes.
func TestCrash(t *testing.T) {
	const rounds = 6
	var blocks [][][]byte
	var hashes [][]byte
	s := apptest.State(4)
	for range rounds {
		block := apptest.Close(s, s.Height+1)
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: block})
		require.NoError(t, err)
		s = out.State
		hash := s.Hash()
		blocks, hashes = append(blocks, raws(block), nil), append(hashes, hash[:], hash[:])
		out, err = s.Execute(app.Block{Height: s.Height + 1}) // an empty block after each
		require.NoError(t, err)
		s = out.State
	}
	rng := rand.New(rand.NewPCG(1, 2))
	total := 0
	for range 200 {
		n := open(t, dbm.NewMemDB())
		crashes := 0
		for height := int64(1); height <= int64(len(blocks)); {
			info, err := n.Info(ctx, &abcitypes.RequestInfo{})
			require.NoError(t, err)
			require.Equal(t, height-1, info.LastBlockHeight)
			if info.LastBlockHeight == 0 {
				n.init(4)
			} else {
				require.Equal(t, hashes[height-2], info.LastBlockAppHash)
			}
			crash := rng.IntN(12)
			txs := blocks[height-1]
			steps := []func(){
				func() { require.True(t, n.process(height, txs)) },
				func() { require.Equal(t, hashes[height-1], n.finalize(height, txs).AppHash) },
				n.commit,
			}
			done := 0
			for ; done < len(steps) && done != crash; done++ {
				steps[done]()
			}
			if done == len(steps) {
				height++
			} else {
				crashes++
			}
			if crash <= len(steps) {
				n = open(t, n.db)
			}
		}
		total += crashes
	}
	require.Greater(t, total, 100, "the nodes must have been stopped between verbs")
}

func TestInfoBeforeTheFirstBlock(t *testing.T) {
	n := begin(t, 4)
	info, err := n.Info(ctx, &abcitypes.RequestInfo{})
	require.NoError(t, err)
	require.Zero(t, info.LastBlockHeight, "genesis is not a block: a crash now must start over")
	require.Empty(t, info.LastBlockAppHash)
}

func TestProcessProposalRejects(t *testing.T) {
	n := begin(t, 4)
	block := raws(apptest.Close(apptest.State(4), 1))
	require.True(t, n.process(1, nil), "an empty block is valid always")
	require.True(t, n.process(1, block))
	require.False(t, n.process(1, block[1:]))
	require.False(t, n.process(1, append([][]byte{{1, 2, 3}}, block...)))
	require.False(t, n.process(2, block), "a height too early")
	for i := range block {
		for _, at := range []int{0, len(block[i]) / 2, len(block[i]) - 1} {
			spoilt := make([][]byte, len(block))
			for k := range block {
				spoilt[k] = append([]byte(nil), block[k]...)
			}
			spoilt[i][at] ^= 0x40
			require.False(t, n.process(1, spoilt), "transaction %d, byte %d", i, at)
		}
	}
}

func TestFinalizeBlockDoesNotRecover(t *testing.T) {
	n := begin(t, 4)
	_, err := n.FinalizeBlock(ctx, &abcitypes.RequestFinalizeBlock{Height: 1, Txs: [][]byte{{1}}})
	require.Error(t, err, "a decided block that cannot be executed halts the node")
	_, err = n.Commit(ctx, &abcitypes.RequestCommit{})
	require.Error(t, err)
}

func TestBeforeInitChain(t *testing.T) {
	n := open(t, dbm.NewMemDB())
	require.NotZero(t, n.check(apptest.Gradient(apptest.State(4), 0)).Code)
	q, err := n.Query(ctx, &abcitypes.RequestQuery{Path: "/status"})
	require.NoError(t, err)
	require.NotZero(t, q.Code)
	_, err = n.PrepareProposal(ctx, &abcitypes.RequestPrepareProposal{Height: 1})
	require.Error(t, err)
	_, err = n.InitChain(ctx, &abcitypes.RequestInitChain{AppStateBytes: []byte("{}")})
	require.ErrorIs(t, err, app.ErrGenesis)
}

// TestPrepareWaits: the proposer waits for the round to be complete, and returns at once when it
// is. Without gradients it gives up.
func TestPrepareWaits(t *testing.T) {
	a, err := abci.New(abci.Options{ProposalWait: time.Minute, StragglerWait: time.Minute})
	require.NoError(t, err)
	n := &node{Application: a, t: t}
	n.init(4)
	block := apptest.Close(apptest.State(4), 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, x := range block {
			time.Sleep(10 * time.Millisecond)
			require.Equal(t, abci.CodeOK, n.check(x).Code)
		}
	})
	start := time.Now()
	require.Len(t, n.prepare(1), 5)
	require.Less(t, time.Since(start), 30*time.Second)
	wg.Wait()
	short := begin(t, 4)
	require.Empty(t, short.prepare(1))
}

// TestProposerOfADecidedHeightDoesNotWait: a node that catches up proposes at its past turns at
// once, even if the other nodes decide the height while it waits.
func TestProposerOfADecidedHeightDoesNotWait(t *testing.T) {
	var looks atomic.Int64
	a, err := abci.New(abci.Options{ProposalWait: time.Minute, StragglerWait: time.Minute,
		Host: &host{isDecided: func(height int64) bool {
			require.Equal(t, int64(1), height)
			return looks.Add(1) > 3
		}}})
	require.NoError(t, err)
	n := &node{Application: a, t: t}
	n.init(4)
	start := time.Now()
	require.Empty(t, n.prepare(1))
	require.Less(t, time.Since(start), 30*time.Second)
}

// TestWrongDeltaIsDropped: a leader's wrong aggregate costs the proposer nothing and is rejected
// from then on. A second aggregate of that leader for the view proves an equivocation, which the
// node reports in either order. The next view closes the round.
func TestWrongDeltaIsDropped(t *testing.T) {
	n := begin(t, 4)
	s := apptest.State(4)
	block := apptest.Close(s, 1)
	wrong := *block[0].Aggregate
	wrong.Digest = make([]byte, 32)
	bad := apptest.Sign(int(wrong.Leader), &wrong)
	for _, x := range append([]*tx.Tx{bad}, block[1:]...) {
		require.Equal(t, abci.CodeOK, n.check(x).Code)
	}
	require.Empty(t, n.prepare(1))
	require.Equal(t, abci.CodeDelta, n.check(bad).Code)
	reported := make(chan []byte, 9)
	n.host.report = func(raw []byte) { reported <- raw }
	require.Equal(t, abci.CodeOccupied, n.check(block[0]).Code)
	evidence, err := tx.Decode(<-reported)
	require.NoError(t, err)
	require.Equal(t, abci.CodeOK, n.check(evidence).Code)
	require.Equal(t, abci.CodeOccupied, n.check(block[0]).Code)
	require.Empty(t, reported, "it is reported once")
	require.Equal(t, [][]byte{evidence.Raw}, n.prepare(1))
	n.finalize(1, [][]byte{evidence.Raw})
	n.commit()
	require.Equal(t, abci.CodeSettled, n.check(evidence).Code)
	opens := int64(apptest.Opens(s, 1))
	for height := int64(2); height < opens; height++ {
		n.finalize(height, nil)
		n.commit()
	}
	for _, p := range s.Progress.Ranking[1:] {
		if a, err := n.Draft(p); err == nil {
			require.Equal(t, uint32(1), a.View)
			require.Equal(t, abci.CodeOK, n.check(apptest.Sign(int(p), a)).Code)
		}
	}
	require.Len(t, n.prepare(opens), 5, "the next view closes the round")
}

// TestEquivocationIsReported: a node reports two gradients of one participant for a round.
func TestEquivocationIsReported(t *testing.T) {
	n := begin(t, 4)
	s := apptest.State(4)
	reported := make(chan []byte, 9)
	n.host.report = func(raw []byte) { reported <- raw }
	g := apptest.Gradient(s, 2)
	other := *g.Gradient
	other.Payload = append([]byte{g.Gradient.Payload[0] ^ 1}, g.Gradient.Payload[1:]...)
	require.Equal(t, abci.CodeOK, n.check(g).Code)
	forged := apptest.Sign(1, &other)
	require.Equal(t, abci.CodeOccupied, n.check(forged).Code, "another's signature proves nothing")
	second := apptest.Sign(2, &other)
	require.Equal(t, abci.CodeOccupied, n.check(second).Code)
	evidence, err := tx.Decode(<-reported)
	require.NoError(t, err)
	require.Equal(t, abci.CodeOK, n.check(evidence).Code)
	r := n.finalize(1, n.prepare(1))
	require.Len(t, r.TxResults, 1)
	n.commit()
	var offences []app.Offence
	answer, err := n.Query(ctx, &abcitypes.RequestQuery{Path: "/evidence"})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer.Value, &offences))
	require.Len(t, offences, 1)
	require.Equal(t, uint32(2), offences[0].Participant)
	require.Empty(t, reported)
}

func TestCheckTxRefuses(t *testing.T) {
	s := apptest.State(4)
	n := begin(t, 4)
	g := apptest.Gradient(s, 0)
	other := *g.Gradient
	other.Payload = append([]byte{other.Payload[0] ^ 1}, other.Payload[1:]...)
	with := func(change func(*tx.Gradient)) *tx.Tx {
		c := *apptest.Gradient(s, 1).Gradient
		change(&c)
		return apptest.Sign(1, &c)
	}
	unsigned, err := tx.Sign("another chain", apptest.Gradient(s, 2).Gradient, apptest.Key(2))
	require.NoError(t, err)
	lead, err := s.DraftAggregate(1, s.Progress.Ranking[0], apptest.Gradients(s, 0, 1, 2, 3))
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		x    *tx.Tx
		code uint32
	}{
		{"first", g, abci.CodeOK},
		{"same again", g, abci.CodeOK},
		{"another of the sender", apptest.Sign(0, &other), abci.CodeOccupied},
		{"next round", with(func(g *tx.Gradient) { g.Round = 1 }), abci.CodeOK},
		{"two rounds on", with(func(g *tx.Gradient) { g.Round = 2 }), abci.CodeWrongRound},
		{"another epoch", with(func(g *tx.Gradient) { g.Epoch = 1 }), abci.CodeWrongRound},
		{"wrong dimension", with(func(g *tx.Gradient) { g.Payload = g.Payload[1:] }), abci.CodePayload},
		{"oversized", with(func(g *tx.Gradient) { g.Payload = make([]byte, 1<<20) }), abci.CodePayload},
		{"stranger", with(func(g *tx.Gradient) { g.Participant = 1 << 31 }), abci.CodeNotParticipant},
		{"signed for another chain", unsigned, abci.CodeSignature},
		{"proof", with(func(g *tx.Gradient) { g.VrfProof = []byte{1} }), abci.CodeProof},
		{"aggregate out of turn", apptest.Sign(int(s.Progress.Ranking[1]), &tx.Aggregate{Leader: s.Progress.Ranking[1],
			Included: lead.Included, Digest: lead.Digest}), abci.CodeNotLeader},
		{"aggregate of nothing", apptest.Sign(int(lead.Leader), &tx.Aggregate{Leader: lead.Leader, Digest: lead.Digest}),
			abci.CodeIncluded},
		{"aggregate without a digest", apptest.Sign(int(lead.Leader), &tx.Aggregate{Leader: lead.Leader,
			Included: lead.Included}), abci.CodeDelta},
		{"aggregate", apptest.Sign(int(lead.Leader), lead), abci.CodeOK},
	} {
		r := n.check(c.x)
		require.Equal(t, c.code, r.Code, "%s: %s", c.name, r.Log)
		if c.code != abci.CodeOK {
			require.NotEmpty(t, r.Log)
			require.Equal(t, abci.Codespace, r.Codespace)
		}
	}
	r, err := n.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: []byte("noise")})
	require.NoError(t, err)
	require.Equal(t, abci.CodeMalformed, r.Code)
	again, err := n.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: g.Raw, Type: abcitypes.CheckTxType_Recheck})
	require.NoError(t, err)
	require.Equal(t, abci.CodeOK, again.Code, "a recheck keeps what is pending")
}

// TestStaleIsDropped: when the round closes, its transactions leave the pool and fail CometBFT's
// recheck. Those of the next round stay.
func TestStaleIsDropped(t *testing.T) {
	n := begin(t, 4)
	s := apptest.State(4)
	closed, err := s.Execute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	require.NoError(t, err)
	ahead := apptest.Gradient(closed.State, 2)
	require.Equal(t, abci.CodeOK, n.check(ahead).Code)
	forged := *apptest.Gradient(closed.State, 3).Gradient
	forged.VrfProof = apptest.Proof(s, 3)
	require.Equal(t, abci.CodeOK, n.check(apptest.Sign(3, &forged)).Code, "its seed is not known yet")
	block := apptest.Close(s, 1)
	drive(t, []*node{n}, s, 1)
	for _, x := range block {
		r, err := n.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: x.Raw, Type: abcitypes.CheckTxType_Recheck})
		require.NoError(t, err)
		require.Equal(t, abci.CodeWrongRound, r.Code)
	}
	pending, round := n.Pending()
	require.Equal(t, uint64(1), round)
	require.Equal(t, [][]byte{ahead.Raw}, pending)
}

func TestPoolIsBounded(t *testing.T) {
	a, err := abci.New(abci.Options{PoolBytes: 600})
	require.NoError(t, err)
	n := &node{Application: a, t: t}
	n.init(4)
	codes := map[uint32]int{}
	for i := range 4 {
		codes[n.check(apptest.Gradient(apptest.State(4), i)).Code]++
	}
	require.Equal(t, 3, codes[abci.CodeOK])
	require.Equal(t, 1, codes[abci.CodePoolFull])
}

func TestQuery(t *testing.T) {
	n := begin(t, 4)
	s := drive(t, []*node{n}, apptest.State(4), 3)
	ask := func(path string, into any) *abcitypes.ResponseQuery {
		r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: path})
		require.NoError(t, err)
		if into != nil {
			require.Zero(t, r.Code, r.Log)
			require.NoError(t, json.Unmarshal(r.Value, into))
		}
		return r
	}
	var status query.Status
	ask("/status", &status)
	require.Equal(t, uint64(3), status.Round)
	require.Equal(t, s.Progress.Ranking, status.Ranking)
	hash := s.Hash()
	require.Equal(t, fmt.Sprintf("%x", hash), status.AppHash)
	var running params.Params
	ask("/params", &running)
	require.Equal(t, s.Params, running)
	var participants []app.Participant
	ask("/participants", &participants)
	require.Equal(t, s.Participants, participants)
	var record app.Record
	ask("/round/1", &record)
	require.Equal(t, uint64(1), record.Round)
	require.Len(t, record.Contributions, 4)
	var m query.ModelState
	ask("/model", &m)
	parameters, err := app.DecodeParameters(m.Parameters)
	require.NoError(t, err)
	require.Equal(t, s.Model, parameters)
	ask("/model/2", &m)
	require.Equal(t, uint64(3), m.Round)
	var timing query.Timing
	ask("/timing/0", &timing)
	for path, code := range map[string]uint32{
		"/nowhere": abci.CodeUnknownPath, "": abci.CodeUnknownPath, "/round/x": abci.CodeBadQuery,
		"/round/-1": abci.CodeBadQuery,
		"/round/3":  abci.CodeNotFound, "/round/18446744073709551615": abci.CodeNotFound, "/model/9": abci.CodeNotFound,
		"/timing/77": abci.CodeNotFound, "/lead/99999999999": abci.CodeBadQuery, "/lead/0": abci.CodeNotLeader,
	} {
		if path == "/lead/0" && s.Progress.Ranking[0] == 0 {
			code = abci.CodeNotNow
		}
		r := ask(path, nil)
		require.Equal(t, code, r.Code, "%s: %s", path, r.Log)
		require.NotEmpty(t, r.Log)
	}
	r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: "/status", Height: 1})
	require.NoError(t, err)
	require.Equal(t, abci.CodeBadQuery, r.Code)
}

// TestLocalLead: a worker in the process gets a draft as soon as the round is complete, and not
// again once the aggregate is pending.
func TestLocalLead(t *testing.T) {
	n := begin(t, 4)
	s := apptest.State(4)
	leader := s.Progress.Ranking[0]
	task, err := n.Local().Await(ctx, apptest.Key(int(leader)).Public().(ed25519.PublicKey), nil)
	require.NoError(t, err)
	require.Equal(t, leader, task.Participant.Index)
	done := make(chan *tx.Aggregate)
	go func() {
		draft, err := n.Local().Lead(ctx, leader)
		require.NoError(t, err)
		done <- draft
	}()
	for _, x := range apptest.Gradients(s, 0, 1, 2, 3) {
		require.Equal(t, abci.CodeOK, n.check(x).Code)
	}
	draft := <-done
	require.Equal(t, leader, draft.Leader)
	require.Equal(t, abci.CodeOK, n.check(apptest.Sign(int(leader), draft)).Code)
	r, err := n.Query(ctx, &abcitypes.RequestQuery{Path: fmt.Sprintf("/lead/%d", leader)})
	require.NoError(t, err)
	require.Equal(t, abci.CodeNotNow, r.Code)
}
