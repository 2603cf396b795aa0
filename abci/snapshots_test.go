package abci_test

import (
	"crypto/sha256"
	"fmt"
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
)

// TestStateSyncOfAnotherVersion: a snapshot after which another state machine version continues is
// rejected and changes nothing. Its senders are not rejected, because they may have a snapshot of
// this version.
func TestStateSyncOfAnotherVersion(t *testing.T) {
	planned := apptest.State(4)
	planned.Progress.Upgrades = []app.Upgrade{{Name: "next", Height: 9, Version: app.Version + 1}}
	for _, c := range []struct {
		name               string
		height, ours       uint64
		upgraded, isOfOurs bool
	}{
		{name: "before the upgrade's height, by the new program", height: 7, ours: app.Version + 1, upgraded: true},
		{name: "before the upgrade's height, by the old one", height: 7, ours: app.Version, upgraded: true, isOfOurs: true},
		{name: "the last of before, by the old one", height: 8, ours: app.Version, upgraded: true},
		{name: "the last of before, by the new one", height: 8, ours: app.Version + 1, upgraded: true, isOfOurs: true},
		{name: "long after, by the old one", height: 99, ours: app.Version, upgraded: true},
		{name: "nothing is planned yet, by the new one", height: 7, ours: app.Version + 1},
	} {
		s := apptest.State(4)
		if c.upgraded {
			s = planned
		}
		document := s.Encode()
		s, err := app.DecodeState(c.height, document)
		require.NoError(t, err)
		a, err := abci.New(abci.Options{DB: dbm.NewMemDB(), ChainID: apptest.ChainID, StateMachine: c.ours,
			GenesisVersion: app.Version})
		require.NoError(t, err)
		chunk := sha256.Sum256(document)
		metadata := sha256.Sum256(chunk[:])
		trusted := s.Hash()
		_, err = a.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{AppHash: trusted[:], Snapshot: &abcitypes.Snapshot{
			Height: c.height, Format: 2, Chunks: 1, Hash: metadata[:], Metadata: chunk[:],
		}})
		require.NoError(t, err)
		r, err := a.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Chunk: document, Sender: "peer"})
		require.NoError(t, err)
		if c.isOfOurs {
			require.Equal(t, abcitypes.ResponseApplySnapshotChunk_ACCEPT, r.Result, c.name)
			require.NotNil(t, a.State(), c.name)
			continue
		}
		require.Equal(t, abcitypes.ResponseApplySnapshotChunk_REJECT_SNAPSHOT, r.Result, c.name)
		require.Empty(t, r.RejectSenders, c.name)
		require.Nil(t, a.State(), c.name)
	}
}

// TestStateSync transfers a snapshot from one node to an empty one, which then follows the chain. A
// snapshot without the trusted hash is rejected and changes nothing.
func TestStateSync(t *testing.T) {
	a, err := abci.New(abci.Options{SnapshotInterval: 2, ProposalWait: 30e6, StragglerWait: 10e6, Now: hasty(time.Minute)})
	require.NoError(t, err)
	from := &node{Application: a, t: t}
	from.init(4)
	s := drive(t, []*node{from}, apptest.State(4), 6)
	list, err := from.ListSnapshots(ctx, &abcitypes.RequestListSnapshots{})
	require.NoError(t, err)
	last := list.Snapshots[len(list.Snapshots)-1]
	require.Equal(t, uint64(6), last.Height)
	chunk, err := from.LoadSnapshotChunk(ctx, &abcitypes.RequestLoadSnapshotChunk{Height: 6, Format: last.Format})
	require.NoError(t, err)
	restore := func(appHash, chunk []byte) (*node, abcitypes.ResponseApplySnapshotChunk_Result) {
		to := open(t, dbm.NewMemDB())
		offer, err := to.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: last, AppHash: appHash})
		require.NoError(t, err)
		require.Equal(t, abcitypes.ResponseOfferSnapshot_ACCEPT, offer.Result)
		r, err := to.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Chunk: chunk})
		require.NoError(t, err)
		return to, r.Result
	}
	hash := s.Hash()
	to, result := restore(hash[:], chunk.Chunk)
	require.Equal(t, abcitypes.ResponseApplySnapshotChunk_ACCEPT, result)
	info, err := to.Info(ctx, &abcitypes.RequestInfo{})
	require.NoError(t, err)
	require.Equal(t, int64(6), info.LastBlockHeight)
	require.Equal(t, hash[:], info.LastBlockAppHash)
	drive(t, []*node{from, to}, s, 3)

	_, result = restore(make([]byte, 32), chunk.Chunk)
	require.Equal(t, abcitypes.ResponseApplySnapshotChunk_REJECT_SNAPSHOT, result)
	flipped := append([]byte(nil), chunk.Chunk...)
	flipped[len(flipped)/2] ^= 1
	_, result = restore(hash[:], flipped)
	require.Equal(t, abcitypes.ResponseApplySnapshotChunk_RETRY, result, "the sender's fault, not the snapshot's")
	_, result = restore(hash[:], nil)
	require.Equal(t, abcitypes.ResponseApplySnapshotChunk_RETRY, result)

	fresh := open(t, dbm.NewMemDB())
	r, err := fresh.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Chunk: []byte{1}})
	require.NoError(t, err)
	require.Equal(t, abcitypes.ResponseApplySnapshotChunk_ABORT, r.Result)
	for _, bad := range []*abcitypes.Snapshot{
		nil, {Chunks: 1 << 30, Format: 2, Hash: last.Hash, Metadata: last.Metadata}, {Chunks: 1, Format: 2},
		{Format: 2, Hash: last.Hash, Metadata: last.Metadata},
		{Chunks: 1, Format: 2, Hash: last.Hash}, {Chunks: 1, Format: 2, Hash: make([]byte, 32), Metadata: last.Metadata},
		{Chunks: 2, Format: 2, Hash: last.Hash, Metadata: last.Metadata},
	} {
		offer, err := fresh.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: bad})
		require.NoError(t, err)
		require.Equal(t, abcitypes.ResponseOfferSnapshot_REJECT, offer.Result)
	}
	offer, err := fresh.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: &abcitypes.Snapshot{Chunks: 1,
		Format: 9, Hash: last.Hash}})
	require.NoError(t, err)
	require.Equal(t, abcitypes.ResponseOfferSnapshot_REJECT_FORMAT, offer.Result)
}

// hasty returns a clock that advances by a step with every reading.
func hasty(step time.Duration) func() time.Time {
	var looks atomic.Int64
	return func() time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(looks.Add(1)) * step) }
}

// snapshotOf returns the offer of a document in one chunk.
func snapshotOf(height uint64, document []byte) *abcitypes.Snapshot {
	chunk := sha256.Sum256(document)
	hash := sha256.Sum256(chunk[:])
	return &abcitypes.Snapshot{Height: height, Format: 2, Chunks: 1, Hash: hash[:], Metadata: chunk[:]}
}

// TestWrongChunkIsItsSendersFault: the sender of a wrong chunk is not asked again, and the same
// snapshot is restored from another peer's chunk.
func TestWrongChunkIsItsSendersFault(t *testing.T) {
	s := apptest.State(4)
	document, trusted := s.Encode(), s.Hash()
	to := open(t, dbm.NewMemDB())
	offer, err := to.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: snapshotOf(s.Height, document),
		AppHash: trusted[:]})
	require.NoError(t, err)
	require.Equal(t, abcitypes.ResponseOfferSnapshot_ACCEPT, offer.Result)
	_, taken, done := to.RestoreTimes()
	require.True(t, taken.IsZero())
	require.False(t, done)
	for i, wrong := range [][]byte{nil, {}, document[:len(document)-1], append([]byte{0}, document...),
		make([]byte, len(document)), make([]byte, 20<<20)} {
		sender := string(rune('a' + i))
		r, err := to.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Chunk: wrong, Sender: sender})
		require.NoError(t, err)
		require.Equal(t, abcitypes.ResponseApplySnapshotChunk_RETRY, r.Result)
		require.Equal(t, []string{sender}, r.RejectSenders)
		require.Equal(t, []uint32{0}, r.RefetchChunks)
	}
	_, taken, _ = to.RestoreTimes()
	require.True(t, taken.IsZero(), "a wrong chunk is no progress")
	r, err := to.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Chunk: document, Sender: "honest"})
	require.NoError(t, err)
	require.Equal(t, abcitypes.ResponseApplySnapshotChunk_ACCEPT, r.Result)
	require.Empty(t, r.RejectSenders)
	require.Equal(t, trusted, to.State().Hash())
	offered, taken, done := to.RestoreTimes()
	require.True(t, done)
	require.False(t, offered.IsZero())
	require.False(t, taken.IsZero())
}

// TestProgressOfStateSync: before a node has its state, its answers say how far the state sync is.
func TestProgressOfStateSync(t *testing.T) {
	s := apptest.State(4)
	document := s.Encode()
	halves := [][]byte{document[:len(document)/2], document[len(document)/2:]}
	var hashes []byte
	for _, half := range halves {
		hash := sha256.Sum256(half)
		hashes = append(hashes, hash[:]...)
	}
	hash, trusted := sha256.Sum256(hashes), s.Hash()
	to := open(t, dbm.NewMemDB())
	status := func() string {
		r, err := to.Query(ctx, &abcitypes.RequestQuery{Path: "/status"})
		require.NoError(t, err)
		return r.Log
	}
	require.Contains(t, status(), "no state yet: no peer with a block is connected, or the chain has not begun")
	to.host.view = query.Connections{ClosedBy: []string{"aa", "bb"}}
	require.Contains(t, status(), "this node has no state yet, and no peer: 2 node(s) closed its connections")
	to.host.view = query.Connections{PeerHeight: 77, ClosedBy: []string{"aa"}}
	require.Contains(t, status(), "it syncs its state, and waits for a snapshot; its peers are at height 77")
	offer, err := to.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: &abcitypes.Snapshot{Height: s.Height,
		Format: 2, Chunks: 2, Hash: hash[:], Metadata: hashes}, AppHash: trusted[:]})
	require.NoError(t, err)
	require.Equal(t, abcitypes.ResponseOfferSnapshot_ACCEPT, offer.Result)
	for i, half := range halves {
		require.Contains(t, status(), fmt.Sprintf("it syncs the state of height %d, and has %d of 2 chunks of the snapshot; "+
			"its peers are at height 77", s.Height, i))
		_, err := to.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Index: uint32(i), Chunk: half})
		require.NoError(t, err)
	}
	require.Empty(t, status())
}

// TestSnapshotsAreKeptByAge: however fast the heights pass, a listed snapshot can be fetched for
// ten minutes, and few are kept. This also holds after a restart.
func TestSnapshotsAreKeptByAge(t *testing.T) {
	db, now := dbm.NewMemDB(), time.Unix(1_700_000_000, 0)
	start := func() *node {
		a, err := abci.New(abci.Options{DB: db, SnapshotInterval: 1, ProposalWait: 30e6, StragglerWait: 10e6,
			Now: func() time.Time { return now }})
		require.NoError(t, err)
		return &node{Application: a, t: t}
	}
	n, long := start(), func(p *params.Params) { p.Training.Rounds = 1000 }
	n.init(4, long)
	s, seen, most := apptest.State(4, long), map[uint64]time.Time{}, 0
	for height := range 260 { // one in five seconds
		if height == 100 {
			n = start()
		}
		now = now.Add(5 * time.Second)
		s = drive(t, []*node{n}, s, 1)
		r, err := n.ListSnapshots(ctx, &abcitypes.RequestListSnapshots{})
		require.NoError(t, err)
		offered := map[uint64]bool{}
		for _, x := range r.Snapshots {
			offered[x.Height] = true
			if _, ok := seen[x.Height]; !ok {
				seen[x.Height] = now
			}
		}
		for h, first := range seen {
			require.True(t, offered[h] || now.Sub(first) > 10*time.Minute,
				"height %d: the snapshot of %d is gone %v after it was first offered", s.Height, h, now.Sub(first))
		}
		most = max(most, len(r.Snapshots))
	}
	require.LessOrEqual(t, most, 2*20+2, "twice what ten minutes bring, after a restart")
	require.GreaterOrEqual(t, most, 10)
}

// TestHostileSnapshot: a document is untrusted until it has the trusted hash. Whatever it contains,
// the snapshot is rejected and the node goes on.
func TestHostileSnapshot(t *testing.T) {
	for name, spoil := range map[string]func(d *app.Document){
		"history without peaks": func(d *app.Document) { d.Closed = 3 },
		"cost without budget":   func(d *app.Document) { d.Params.Privacy.Cost = []uint64{1} },
		"cost of 0": func(d *app.Document) {
			d.Params.Privacy.Cost, d.Params.Privacy.Budget = []uint64{0}, []uint64{5}
		},
	} {
		var d app.Document
		require.NoError(t, d.Unmarshal(apptest.State(4).Encode()))
		spoil(&d)
		data, err := d.Marshal()
		require.NoError(t, err)
		to := open(t, dbm.NewMemDB())
		offer, err := to.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: snapshotOf(3, data),
			AppHash: make([]byte, 32)})
		require.NoError(t, err)
		require.Equal(t, abcitypes.ResponseOfferSnapshot_ACCEPT, offer.Result)
		r, err := to.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Chunk: data, Sender: "liar"})
		require.NoError(t, err)
		require.Equal(t, []string{"liar"}, r.RejectSenders)
		require.Equal(t, abcitypes.ResponseApplySnapshotChunk_REJECT_SNAPSHOT, r.Result, name)
		require.Nil(t, to.State())
	}
}

// TestForgedSnapshot: the application hash covers everything in a snapshot, including the number of
// closed rounds, the peaks of their tree and the chain id. A snapshot of another chain is rejected
// whatever hash is trusted.
func TestForgedSnapshot(t *testing.T) {
	from := begin(t, 4)
	s := drive(t, []*node{from}, apptest.State(4), 7) // three peaks
	for name, c := range map[string]struct {
		forge func(d *app.Document)
		own   bool // the trusted hash is the forged state's own
	}{
		"history as one peak of 2^40 rounds": {forge: func(d *app.Document) {
			root := [32]byte(d.History[2])
			for _, i := range []int{1, 0} {
				root = sha256.Sum256(append(append([]byte{1}, d.History[i]...), root[:]...))
			}
			d.Closed, d.History = 1<<40, [][]byte{root[:]}
		}},
		"another size with as many peaks":         {forge: func(d *app.Document) { d.Closed = 11 }},
		"another chain's id":                      {forge: func(d *app.Document) { d.ChainId = "another" }},
		"another chain, whose header was trusted": {forge: func(d *app.Document) { d.ChainId = "another" }, own: true},
	} {
		t.Run(name, func(t *testing.T) {
			var d app.Document
			require.NoError(t, d.Unmarshal(s.Encode()))
			c.forge(&d)
			data, err := d.Marshal()
			require.NoError(t, err)
			forged, err := app.DecodeState(s.Height, data)
			require.NoError(t, err)
			trusted := s.Hash()
			if c.own {
				trusted = forged.Hash()
			}
			to := open(t, dbm.NewMemDB())
			offer, err := to.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: snapshotOf(s.Height, data),
				AppHash: trusted[:]})
			require.NoError(t, err)
			require.Equal(t, abcitypes.ResponseOfferSnapshot_ACCEPT, offer.Result)
			r, err := to.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Chunk: data})
			require.NoError(t, err)
			require.Equal(t, abcitypes.ResponseApplySnapshotChunk_REJECT_SNAPSHOT, r.Result)
			require.Nil(t, to.State())
		})
	}
}

// counted counts the bytes of values that are read from a database.
type counted struct {
	dbm.DB
	read atomic.Int64
}

func (c *counted) Get(key []byte) ([]byte, error) {
	value, err := c.DB.Get(key)
	c.read.Add(int64(len(value)))
	return value, err
}

// large sets a model with nearly the maximum number of parameters, and with a velocity.
func large(p *params.Params) {
	p.Model.Kind, p.Model.Inputs, p.Model.Hidden, p.Model.Classes = params.ModelMLP, 784, 2600, 17
	p.Training.Momentum = 0.9
}

// TestSnapshotOfALargeModel: the state of an MLP of two million parameters with its velocity goes
// from one node to another in chunks that CometBFT's state sync carries. Listing snapshots reads no
// chunk, reading a chunk reads no other chunk, and dropping a snapshot leaves nothing in the
// database.
func TestSnapshotOfALargeModel(t *testing.T) {
	db := &counted{DB: dbm.NewMemDB()}
	a, err := abci.New(abci.Options{DB: db, SnapshotInterval: 1, Now: hasty(10 * time.Minute), ChainID: apptest.ChainID})
	require.NoError(t, err)
	from := &node{Application: a, t: t}
	from.init(4, large)
	height := int64(1)
	block := func() {
		from.finalize(height, nil)
		from.commit()
		height++
	}
	block()
	require.Greater(t, len(from.State().Model), 2_000_000)
	require.Len(t, from.State().Velocity, len(from.State().Model))
	db.read.Store(0)
	list, err := from.ListSnapshots(ctx, &abcitypes.RequestListSnapshots{})
	require.NoError(t, err)
	require.Len(t, list.Snapshots, 1)
	offered := list.Snapshots[0]
	require.Equal(t, uint32(4), offered.Chunks, "of 33 MB")
	require.Less(t, db.read.Load(), int64(1024))

	to, hash := open(t, dbm.NewMemDB()), from.State().Hash()
	offer, err := to.OfferSnapshot(ctx, &abcitypes.RequestOfferSnapshot{Snapshot: offered, AppHash: hash[:]})
	require.NoError(t, err)
	require.Equal(t, abcitypes.ResponseOfferSnapshot_ACCEPT, offer.Result)
	for i := range offered.Chunks {
		db.read.Store(0)
		c, err := from.LoadSnapshotChunk(ctx, &abcitypes.RequestLoadSnapshotChunk{Height: offered.Height,
			Format: offered.Format, Chunk: i})
		require.NoError(t, err)
		require.Equal(t, int64(len(c.Chunk)), db.read.Load())
		require.Less(t, len(c.Chunk), 16_000_000, "CometBFT's bound on the message")
		r, err := to.ApplySnapshotChunk(ctx, &abcitypes.RequestApplySnapshotChunk{Index: i, Chunk: c.Chunk, Sender: "peer"})
		require.NoError(t, err)
		require.Equal(t, abcitypes.ResponseApplySnapshotChunk_ACCEPT, r.Result)
	}
	require.Equal(t, hash, to.State().Hash())

	db.read.Store(0)
	for _, asked := range []*abcitypes.RequestLoadSnapshotChunk{
		{Height: 1, Format: 2, Chunk: offered.Chunks}, {Height: 1, Format: 2, Chunk: 1<<32 - 1}, {Height: 1, Format: 1},
		{Height: 9, Format: 2},
	} {
		r, err := from.LoadSnapshotChunk(ctx, asked)
		require.NoError(t, err)
		require.Empty(t, r.Chunk)
	}
	require.Zero(t, db.read.Load())
	for range 3 { // the hasty clock makes them older than ten minutes
		block()
	}
	list, err = from.ListSnapshots(ctx, &abcitypes.RequestListSnapshots{})
	require.NoError(t, err)
	require.Greater(t, list.Snapshots[0].Height, uint64(1))
	for i := range offered.Chunks {
		r, err := from.LoadSnapshotChunk(ctx, &abcitypes.RequestLoadSnapshotChunk{Height: 1, Format: 2, Chunk: i})
		require.NoError(t, err)
		require.Empty(t, r.Chunk, "dropped")
	}
}
