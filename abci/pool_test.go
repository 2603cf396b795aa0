package abci_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// bring is participant i's approval of a Join that no node has seen yet.
func bring(i int, join *tx.Tx) *tx.Tx {
	id := join.ID()
	return apptest.Sign(i, &tx.Approve{Participant: uint32(i), Proposal: id[:], Join: join.Raw})
}

// TestApprovalsAreBounded: a participant may carry any number of Joins of its own making, each in a
// slot of its own, a second each. Neither their number nor their bytes keep transactions of other
// senders out.
func TestApprovalsAreBounded(t *testing.T) {
	n := beginTimed(t)
	for i := range 64 {
		n.clock = n.clock.Add(time.Second)
		require.Equal(t, abci.CodeOK, n.check(bring(3, apptest.Join(100+i))).Code)
	}
	r := n.check(bring(3, apptest.Join(164)))
	require.Equal(t, abci.CodePoolFull, r.Code)
	require.Contains(t, r.Log, "64 approve operations of one sender held, at most 64")
	require.Equal(t, abci.CodeOK, n.check(bring(2, apptest.Join(164))).Code, "another's")
	proposed := n.prepare(1)
	require.Len(t, proposed, 64)
	require.True(t, n.process(1, proposed))
	n.finalize(1, proposed)
	n.commit()
	require.Equal(t, abci.CodeOK, n.check(bring(3, apptest.Join(165))).Code, "the block made room")

	join := apptest.Join(9)
	n.finalize(2, raws([]*tx.Tx{join}))
	n.commit()
	id := join.ID()
	r = n.check(apptest.Sign(1, &tx.Approve{Participant: 1, Proposal: id[:], Join: make([]byte, 1<<20)}))
	require.Equal(t, abci.CodeMalformed, r.Code)
	require.Contains(t, r.Log, "bytes, at most 40960")
	require.Equal(t, abci.CodeOK, n.check(bring(1, join)).Code)
}

// TestLargestEpoch: the pool takes the largest epoch that rule P2 allows, which has an external
// model of 32 KiB and a ledger. One byte more breaks the rule, and the pool's bound is above both.
func TestLargestEpoch(t *testing.T) {
	n := begin(t, 4)
	p := n.State().Params
	p.Preset, p.Privacy.Epsilon, p.Privacy.Delta = strings.Repeat("x", 70), 4, 1e-6
	for range params.LedgerColumns {
		p.Privacy.Cost, p.Privacy.Budget = append(p.Privacy.Cost, 1<<53-1), append(p.Privacy.Budget, 1<<53-1)
	}
	m := params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows, Config: strings.Repeat("x", 16000),
		Trainer: strings.Repeat("a", 64)}
	for i := 0; m.Size() < 32_500; i++ {
		m.Tensors = append(m.Tensors, params.Tensor{Name: strings.Repeat("x", 120) + strconv.Itoa(1000+i), Shape: []uint32{1},
			Init: params.InitZeros})
	}
	m.Config += strings.Repeat("x", 32_768-m.Size())
	require.Equal(t, 32_768, m.Size())
	epoch := func(m params.Model) *tx.Tx {
		p.Model = m
		return apptest.Sign(0, app.NewStartEpoch(0, 1, 1, p, false, true))
	}
	largest := epoch(m)
	require.Greater(t, len(largest.Raw), 33_700)
	require.Equal(t, abci.CodeOK, n.check(largest).Code)
	n = begin(t, 4)
	m.Config += "x"
	r := n.check(epoch(m))
	require.Equal(t, abci.CodeEpoch, r.Code, r.Log)
	require.Contains(t, r.Log, "model takes 32769 bytes encoded, at most 32768")
}

// TestLargestOperation: the pool's own bound is exact.
func TestLargestOperation(t *testing.T) {
	n := begin(t, 4)
	id := apptest.Join(9).ID()
	padded := func(bytes int) *tx.Tx {
		approve := func(padding int) *tx.Tx {
			return apptest.Sign(1, &tx.Approve{Participant: 1, Proposal: id[:], Join: make([]byte, padding)})
		}
		t := approve(bytes - 200)
		return approve(bytes - 200 + bytes - len(t.Raw))
	}
	for bytes, refused := range map[int]bool{40_960: false, 40_961: true} {
		x := padded(bytes)
		require.Len(t, x.Raw, bytes)
		r := n.check(x)
		require.NotEqual(t, abci.CodeOK, r.Code, "the padding is no Join")
		require.Equal(t, refused, strings.Contains(r.Log, "too large for the pool"), r.Log)
	}
}

// TestNextRoundsProof: the size of a proof that cannot be verified yet is bounded.
func TestNextRoundsProof(t *testing.T) {
	n := begin(t, 4)
	s := n.State()
	v := apptest.Vector(s.Grid().Width, len(s.Model), 1, 3)
	early := func(proof int) *tx.Tx {
		return apptest.Sign(3, &tx.Gradient{Round: 1, Participant: 3, Payload: v.Encode(), VrfProof: make([]byte, proof)})
	}
	r := n.check(early(1 << 20))
	require.Equal(t, abci.CodeProof, r.Code)
	require.Contains(t, r.Log, "1048576 bytes, want 80")
	require.Equal(t, abci.CodeOK, n.check(early(80)).Code)
}

// TestRotationInStalledRound: a participant's key is replaced only after the stalled round has
// closed, so its gradient in the pools, signed with the old key, can be included and close the
// round.
func TestRotationInStalledRound(t *testing.T) {
	n := begin(t, 4)
	s := n.State()
	for _, i := range []int{0, 3} { // one gradient too few
		require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(s, i)).Code)
	}
	height := int64(1)
	pass := func(txs ...*tx.Tx) {
		n.finalize(height, raws(txs))
		n.commit()
		height++
	}
	for height < 25 {
		pass()
	}
	seed := sha256.Sum256([]byte("next"))
	key := ed25519.NewKeyFromSeed(seed[:])
	pub := key.Public().(ed25519.PublicKey)
	pass(apptest.Sign(3, &tx.Rotate{Participant: 3, Nonce: 1, PubKey: pub, PubKeyProof: app.ProveRotation(apptest.ChainID,
		3, key)}))
	s = n.State()
	require.EqualValues(t, apptest.Identity(3).PubKey, s.Participants[3].PubKey)
	require.Zero(t, s.Progress.Round)
	for _, i := range []int{1, 2} { // the participants that were absent
		require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(s, i)).Code)
	}
	time.Sleep(20 * time.Millisecond) // longer than the wait for stragglers
	draft, err := n.Draft(0)
	require.NoError(t, err)
	require.Len(t, draft.Included, 4)
	require.Equal(t, abci.CodeOK, n.check(apptest.Sign(0, draft)).Code)
	proposed := n.prepare(height)
	require.Len(t, proposed, 5)
	require.True(t, n.process(height, proposed))
	n.finalize(height, proposed)
	n.commit()
	require.EqualValues(t, 1, n.State().Progress.Round)
	require.EqualValues(t, pub, n.State().Participants[3].PubKey)
}
