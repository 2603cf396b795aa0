package audit_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
)

var ctx = context.Background()

func run(t *testing.T, src audit.Source) *audit.Report {
	t.Helper()
	r, err := audit.Run(ctx, src, audit.Options{})
	require.NoError(t, err)
	return r
}

// eventful returns a chain with a passed-over leader, an equivocation, a member that
// joins with its validator and one that leaves.
func eventful(t *testing.T) *chain {
	c := newChain(t, 4)
	c.Close(3)
	for c.State.Height+1 < apptest.Opens(c.State, 1) {
		c.Add()
	}
	pending := apptest.Gradients(c.State, apptest.Indices(4)...)
	second := int(c.State.Progress.Ranking[1])
	a, err := c.State.DraftAggregate(c.State.Height+1, uint32(second), pending)
	require.NoError(t, err)
	require.Equal(t, uint32(1), a.View)
	c.Add(c.State.Assemble(c.State.Height+1, append(pending, apptest.Sign(second, a)), 0)...)

	first := apptest.Gradient(c.State, 3)
	other := *first.Gradient
	other.Payload = append([]byte(nil), other.Payload...)
	other.Payload[0] ^= 1
	proof, err := tx.NewEvidence(first, apptest.Sign(3, &other))
	require.NoError(t, err)
	c.Add(proof)
	c.Close(2)

	join := apptest.Join(4)
	c.Add(join, apptest.Approve(0, join), apptest.Approve(1, join), apptest.Approve(2, join))
	c.Close(4)
	c.Add(apptest.Sign(1, &tx.Remove{Participant: 1, Subject: 1, Nonce: 1}))
	c.Close(4)
	return c
}

func TestReplay(t *testing.T) {
	c := eventful(t)
	passed := c.Records[3].Ranking[0]
	var seen []audit.Progress
	r, err := audit.Run(ctx, c.Source(), audit.Options{Progress: func(p audit.Progress) { seen = append(seen, p) }})
	require.NoError(t, err)
	require.Nil(t, r.Divergence)
	require.True(t, r.TipChecked)
	require.Equal(t, c.State.Height, r.Last)
	require.Equal(t, uint64(14), r.Rounds)
	require.Equal(t, uint64(len(c.Blocks)), r.Blocks)
	hash := c.State.Hash()
	require.Equal(t, hex.EncodeToString(hash[:]), r.AppHash)
	require.Equal(t, hex.EncodeToString(c.Records[r.Rounds-1].ModelHash), r.ModelHash, "as the last round's record")
	require.Equal(t, []audit.BadLeader{{Round: 3, Height: 8, Participant: passed, View: 0, ClosedBy: c.Records[3].Leader}},
		r.BadLeaders)
	require.Len(t, r.Offences, 1)
	require.Equal(t, uint32(3), r.Offences[0].Participant)
	require.Len(t, r.Spend, 5)
	require.Greater(t, r.Signatures, 4*r.Blocks-1)
	require.InDelta(t, 0.1*float64(r.Blocks-1), r.ChainSeconds, 0.2)
	require.Len(t, seen, len(c.Blocks))
	require.Equal(t, 1.0, seen[len(seen)-1].Done)
	require.Zero(t, seen[len(seen)-1].Left)
}

// TestHundredRounds replays a longer chain, and a copy of it with one byte of
// one gradient changed, at the right height and by name.
func TestHundredRounds(t *testing.T) {
	c := newChain(t, 4, func(p *params.Params) { p.Training.Rounds = 100 })
	c.Close(100)
	r := run(t, c.Source())
	require.Nil(t, r.Divergence)
	require.Equal(t, uint64(100), r.Rounds)
	require.Less(t, r.Ratio, 1.0)
	t.Logf("replay of 100 rounds: %.3f s for %.1f s of the chain's time, ratio %.4f", r.ReplaySeconds, r.ChainSeconds,
		r.Ratio)

	const height, index = 57, 3 // the aggregate is first, then participants 0, 1, 2
	raw := c.Blocks[height-1].Data.Txs[index]
	at := bytes.Index(raw, mustDecode(t, raw).Gradient.Payload)
	require.Positive(t, at)
	raw[at+2] ^= 4
	r = run(t, c.Source())
	d := r.Divergence
	require.NotNil(t, d)
	require.Equal(t, uint64(height), d.Height)
	require.Equal(t, audit.KindBlock, d.Kind)
	require.Contains(t, d.Reason, "DataHash")
	require.Len(t, d.Transactions, 1)
	require.Equal(t, index, d.Transactions[0].Index)
	require.Equal(t, uint32(2), *d.Transactions[0].Participant)
	require.Contains(t, d.Transactions[0].Reason, "invalid signature")
	require.Equal(t, uint64(height-1), r.Last)
	require.Equal(t, uint64(height-1), r.Rounds)
	t.Log(d)
}

func mustDecode(t *testing.T, raw []byte) *tx.Tx {
	x, err := tx.Decode(raw)
	require.NoError(t, err)
	return x
}

// TestTampered: whatever a forger changes and recomputes in one block, the
// replay stops at that block.
func TestTampered(t *testing.T) {
	const height = 7
	for name, c := range map[string]struct {
		kind   string
		change func(t *testing.T, b *cmtproto.Block)
	}{
		"gradient and data hash": {audit.KindCommit, func(t *testing.T, b *cmtproto.Block) {
			b.Data.Txs[2][len(b.Data.Txs[2])-70] ^= 1
			rehash(t, b)
		}},
		"transactions swapped": {audit.KindBlock, func(_ *testing.T, b *cmtproto.Block) {
			b.Data.Txs[1], b.Data.Txs[2] = b.Data.Txs[2], b.Data.Txs[1]
		}},
		"transaction dropped": {audit.KindCommit, func(t *testing.T, b *cmtproto.Block) {
			b.Data.Txs = b.Data.Txs[:3]
			rehash(t, b)
		}},
		"application hash of the header": {audit.KindCommit,
			func(_ *testing.T, b *cmtproto.Block) { b.Header.AppHash[0] ^= 1 }},
		"time": {audit.KindCommit,
			func(_ *testing.T, b *cmtproto.Block) { b.Header.Time = b.Header.Time.Add(1) }},
		"last block": {audit.KindBlock,
			func(_ *testing.T, b *cmtproto.Block) { b.Header.LastBlockId.Hash[0] ^= 1 }},
		"chain id": {audit.KindBlock,
			func(_ *testing.T, b *cmtproto.Block) { b.Header.ChainID = "another" }},
		"height": {audit.KindBlock, func(_ *testing.T, b *cmtproto.Block) { b.Header.Height++ }},
		"commit of the block before": {audit.KindBlock,
			func(_ *testing.T, b *cmtproto.Block) { b.LastCommit.Signatures[1].Signature[5] ^= 1 }},
		"no commit": {audit.KindBlock, func(_ *testing.T, b *cmtproto.Block) { b.LastCommit = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			chain := newChain(t, 4)
			chain.Close(10)
			c.change(t, chain.Blocks[height-1])
			d := run(t, chain.Source()).Divergence
			require.NotNil(t, d)
			require.Equal(t, uint64(height), d.Height)
			require.Equal(t, c.kind, d.Kind, d.Reason)
		})
	}
}

// rehash makes the header fit the transactions again.
func rehash(t *testing.T, b *cmtproto.Block) {
	data, err := types.DataFromProto(&b.Data)
	require.NoError(t, err)
	b.Header.DataHash = data.Hash()
}

// TestAnyBit changes one bit anywhere in one block of the archive.
func TestAnyBit(t *testing.T) {
	c := newChain(t, 4)
	c.Close(6)
	rng := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		height := 1 + rng.IntN(len(c.Blocks))
		data, err := c.Blocks[height-1].Marshal()
		require.NoError(t, err)
		bit := rng.IntN(8 * len(data))
		data[bit/8] ^= 1 << (bit % 8)
		d := run(t, damaged{c.Source(), height, data}).Divergence
		require.NotNil(t, d, "height %d bit %d", height, bit)
		if d.Kind == audit.KindCommit && d.Height == uint64(height-1) {
			require.Contains(t, d.Reason, "its commit, which the next block holds",
				"the round of the commit, which the signatures cover alone")
			continue
		}
		require.Equal(t, uint64(height), d.Height, "bit %d: %s", bit, d.Reason)
	}
}

// damaged replaces the bytes of one block.
type damaged struct {
	*memory
	height int
	data   []byte
}

func (d damaged) Next(ctx context.Context) (*cmtproto.Block, error) {
	b, err := d.memory.Next(ctx)
	if err != nil || d.At != d.height {
		return b, err
	}
	b = new(cmtproto.Block)
	if err := b.Unmarshal(d.data); err != nil {
		return nil, audit.ErrDamaged
	}
	return b, nil
}

// TestConspiracy: all validators sign a wrong application hash. The replay says
// at which height, and in which part the node's own account differs.
func TestConspiracy(t *testing.T) {
	c := newChain(t, 4)
	c.Close(5)
	hash := bytes.Clone(c.Comet.AppHash)
	hash[0] ^= 1
	c.Comet.AppHash = hash
	c.Close(3)
	d := run(t, witness{c.Source(), func(r *app.Record) { r.Contributions[2].Reputation = 1 }}).Divergence
	require.NotNil(t, d)
	require.Equal(t, uint64(5), d.Height)
	require.Equal(t, audit.KindAppHash, d.Kind)
	require.Equal(t, hex.EncodeToString(hash), d.Expected)
	require.Len(t, d.Parts, 1)
	require.Equal(t, "record.contributions[2].reputation", d.Parts[0].Key)
	require.Equal(t, "1", d.Parts[0].Expected)

	// The same of the last block, which no header follows.
	c = newChain(t, 4)
	c.Close(5)
	c.Comet.AppHash = hash
	d = run(t, c.Source()).Divergence
	require.NotNil(t, d)
	require.Equal(t, uint64(5), d.Height)
	require.Equal(t, audit.KindAppHash, d.Kind)
}

// TestFewSignatures: a commit that a third of the validators signed is none.
func TestFewSignatures(t *testing.T) {
	c := newChain(t, 4)
	c.Close(3)
	for i := range 2 {
		c.Commit.Signatures[i] = types.NewCommitSigAbsent()
	}
	d := run(t, c.Source()).Divergence
	require.NotNil(t, d)
	require.Equal(t, uint64(3), d.Height)
	require.Equal(t, audit.KindCommit, d.Kind)
	require.Contains(t, d.Reason, "insufficient voting power")
}

// TestOtherGenesis: blocks of a chain do not pass for another's.
func TestOtherGenesis(t *testing.T) {
	c, other := newChain(t, 4), newChain(t, 4, func(p *params.Params) { p.Training.LearningRate = 0.25 })
	c.Close(3)
	r, err := audit.Run(ctx, c.Source(), audit.Options{Genesis: other.Doc})
	require.NoError(t, err)
	require.NotNil(t, r.Divergence)
	require.Equal(t, uint64(0), r.Divergence.Height, "the state before the first block")
	require.Equal(t, audit.KindAppHash, r.Divergence.Kind)
	require.Contains(t, r.Divergence.Reason, "the genesis that was given is another than the one beside the blocks")
}

// TestHostileGenesis: a genesis that CometBFT would panic on is an error.
func TestHostileGenesis(t *testing.T) {
	c := newChain(t, 4)
	c.Close(1)
	c.Doc.Validators = append(c.Doc.Validators, c.Doc.Validators[0])
	_, err := audit.Run(ctx, c.Source(), audit.Options{})
	require.ErrorContains(t, err, "duplicate entry")
}

// TestReplayRefusesWhatANodeRefuses: a participant's consensus key that is no genesis validator's.
func TestReplayRefusesWhatANodeRefuses(t *testing.T) {
	c := newChain(t, 4)
	c.Close(1)
	c.Doc.Validators = c.Doc.Validators[1:]
	_, err := audit.Run(ctx, c.Source(), audit.Options{})
	require.ErrorContains(t, err, "names a consensus key whose validator has power 0")
}

func archive(t *testing.T, c *chain) []byte {
	t.Helper()
	var out bytes.Buffer
	blocks, err := audit.WriteArchive(ctx, &out, c.Source(), nil)
	require.NoError(t, err)
	require.Equal(t, uint64(len(c.Blocks)), blocks)
	return out.Bytes()
}

func TestArchive(t *testing.T) {
	c := eventful(t)
	data := archive(t, c)
	a, err := audit.NewArchive(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	from, to := run(t, c.Source()), run(t, a)
	for _, r := range []*audit.Report{from, to} {
		r.ReplaySeconds, r.Ratio = 0, 0
	}
	require.Equal(t, from, to)
	require.Equal(t, 1.0, a.Done())

	for cut := 1; cut < len(data); cut += 97 { // whatever is missing at the end is missed
		a, err := audit.NewArchive(bytes.NewReader(data[:cut]), int64(cut))
		if err == nil {
			_, err = audit.Run(ctx, a, audit.Options{})
		}
		require.ErrorIs(t, err, audit.ErrArchive, "cut at %d of %d", cut, len(data))
	}
	whole := unzip(t, data)
	more := gzipped(t, append(whole, 0))
	a, err = audit.NewArchive(bytes.NewReader(more), int64(len(more)))
	require.NoError(t, err)
	_, err = audit.Run(ctx, a, audit.Options{})
	require.ErrorContains(t, err, "more behind its end")
	huge := gzipped(t, []byte{1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f})
	_, err = audit.NewArchive(bytes.NewReader(huge), 0)
	require.ErrorContains(t, err, "at most")
}

func unzip(t *testing.T, data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	out, err := io.ReadAll(z)
	require.NoError(t, err)
	return out
}

func gzipped(t testing.TB, data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

// FuzzDecodeArchive: no bytes make the reader panic or run without end.
func FuzzDecodeArchive(f *testing.F) {
	f.Add([]byte{1<<3 | 2, 2, '{', '}', 5 << 3, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		packed := gzipped(t, data)
		a, err := audit.NewArchive(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			return
		}
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, _ = audit.Run(within, a, audit.Options{})
	})
}

func TestDifferences(t *testing.T) {
	type thing struct {
		A uint64
		B []int
	}
	require.Empty(t, audit.Differences("x", thing{1, []int{1}}, thing{1, []int{1}}))
	require.Equal(t, []audit.Difference{{"x.A", "9007199254740993", "9007199254740992"}, {"x.B[1]", "null", "2"}},
		audit.Differences("x", thing{1<<53 + 1, []int{1}}, thing{1 << 53, []int{1, 2}}))
	require.Len(t, audit.Differences("x", make([]int, 100), bytes.Repeat([]byte{1}, 3)), 1, "of two kinds: one difference")
}

// upgraded returns a chain with an upgrade at height 30. Its block of height 20 is changed by forge, which may be nil.
func upgraded(t *testing.T, forge func(*types.Block)) *chain {
	c := newChain(t, 4)
	x := apptest.Sign(0, &tx.Upgrade{Participant: 0, Nonce: 1, Name: "next", Height: 30, Version: app.Version + 1})
	c.Add(append(apptest.Close(c.State, 1), x, apptest.Approve(1, x), apptest.Approve(2, x))...)
	c.Close(1)
	for c.State.Height < 29 {
		if c.State.Height == 19 {
			c.Block(nil, forge)
		} else {
			c.Add()
		}
	}
	c.State, c.Comet.Version.Consensus.App = c.State.As(app.Version+1), app.Version+1
	c.Close(2)
	return c
}

// TestUpgradeEndsTheReplay: a program replays the heights of its own version, says where
// another's begin, and executes none of them.
func TestUpgradeEndsTheReplay(t *testing.T) {
	r := run(t, upgraded(t, nil).Source())
	require.Nil(t, r.Divergence)
	require.Equal(t, &audit.OtherVersion{Height: 30, Version: app.Version + 1, Program: app.Version}, r.OtherVersion)
	require.ErrorIs(t, r.OtherVersion, app.ErrVersion)
	require.EqualValues(t, 29, r.Last)
	require.EqualValues(t, 2, r.Rounds)
}

// TestSkimmedHeaders: the release that continues a replay compares the versions of the heights before as well.
func TestSkimmedHeaders(t *testing.T) {
	from := run(t, upgraded(t, nil).Source()).Handover
	for stated, divergence := range map[uint64]uint64{0: 20, app.Version: 0, app.Version + 1: 20} {
		c := upgraded(t, func(b *types.Block) { b.Version.App = stated })
		last, err := types.BlockFromProto(c.Blocks[28])
		require.NoError(t, err)
		from.Block = last.Hash()
		app.Version++
		r, err := audit.Run(ctx, c.Source(), audit.Options{From: from})
		app.Version--
		require.NoError(t, err)
		if divergence == 0 {
			require.Nil(t, r.Divergence)
			continue
		}
		require.NotNil(t, r.Divergence, "version %d", stated)
		require.Equal(t, divergence, r.Divergence.Height)
		require.Contains(t, r.Divergence.Reason, fmt.Sprintf("version.app is %d, replayed %d", stated, app.Version))
	}
}

// TestHeaderOfAnotherVersion: a header states the version of its height, which follows from the genesis and the
// upgrades (B7). Where it does not, the chain diverges: exit code 4 is for upgrades.
func TestHeaderOfAnotherVersion(t *testing.T) {
	for _, stated := range []uint64{app.Version - 1, app.Version + 1, 99} {
		c := newChain(t, 4)
		c.Close(3)
		c.Doc.ConsensusParams.Version.App = stated
		r := run(t, c.Source())
		require.NotNil(t, r.Divergence, "genesis of version %d", stated)
		require.Nil(t, r.OtherVersion)
		require.EqualValues(t, 1, r.Divergence.Height)
		require.Contains(t, r.Divergence.Reason, fmt.Sprintf("version.app is %d, replayed %d", app.Version, stated))
	}
	for _, header := range []uint64{0, app.Version - 1, app.Version + 1} {
		c := newChain(t, 4)
		c.Close(3)
		c.Block(nil, func(b *types.Block) { b.Version.App = header })
		c.Close(1)
		r := run(t, c.Source())
		require.NotNil(t, r.Divergence, "header of version %d", header)
		require.Nil(t, r.OtherVersion)
		require.EqualValues(t, 4, r.Divergence.Height)
		require.Equal(t, audit.KindBlock, r.Divergence.Kind)
		require.Equal(t, fmt.Sprintf("version.app is %d, replayed %d", header, app.Version), r.Divergence.Reason)
	}
}

// TestGenesisWithoutVersion: the replay refuses a genesis that states no version, as a node does. One that states
// another version is for that version's release.
func TestGenesisWithoutVersion(t *testing.T) {
	c := newChain(t, 4)
	c.Comet.Version.Consensus.App, c.Doc.ConsensusParams.Version.App = 0, 0
	c.Close(1)
	_, err := audit.Run(ctx, c.Source(), audit.Options{})
	require.ErrorIs(t, err, app.ErrGenesis)
	require.ErrorContains(t, err, "consensus_params.version.app is 0")

	c = newChain(t, 4)
	c.Comet.Version.Consensus.App, c.Doc.ConsensusParams.Version.App = app.Version+1, app.Version+1
	c.Close(1)
	r := run(t, c.Source())
	require.Nil(t, r.Divergence)
	require.Equal(t, &audit.OtherVersion{Height: 1, Version: app.Version + 1, Program: app.Version}, r.OtherVersion)
}
