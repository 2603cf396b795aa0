package audit_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// logged returns the log of a chain, as a reader of its file has it.
func logged(t *testing.T, c *chain) *audit.Log {
	t.Helper()
	made, report, err := audit.RunLog(ctx, c.Source(), audit.Options{})
	require.NoError(t, err)
	require.Nil(t, report.Divergence)
	return copied(t, made)
}

func copied(t *testing.T, l *audit.Log) *audit.Log {
	t.Helper()
	data, err := json.Marshal(l)
	require.NoError(t, err)
	read, err := audit.ReadLog(bytes.NewReader(data))
	require.NoError(t, err)
	return read
}

// trusted returns the headers of a log that follow from the genesis of its chain.
func trusted(t *testing.T, c *chain, l *audit.Log) light.Headers {
	t.Helper()
	blocks, err := l.Blocks()
	require.NoError(t, err)
	trust, err := light.Genesis(c.Doc, blocks[0])
	require.NoError(t, err)
	h, err := light.HeldHeaders(trust, blocks)
	require.NoError(t, err)
	return h
}

// governed is the eventful chain with the evidence of two votes, a proposal that waits, one that is
// dropped when its proposer leaves, and a join that an approval carries.
func governed(t *testing.T) *chain {
	c := eventful(t)
	var votes [2]*types.Vote
	accused, _ := c.Comet.Validators.GetByAddress(ed25519.PubKey(apptest.ConsensusKey(3)).Address())
	key := c.Keys[string(ed25519.PubKey(apptest.ConsensusKey(3)).Address())]
	height := int64(c.State.Height)
	for i := range votes {
		v := &types.Vote{Type: cmtproto.PrevoteType, Height: height, ValidatorIndex: accused,
			ValidatorAddress: key.PubKey().Address(), Timestamp: began,
			BlockID: types.BlockID{Hash: bytes.Repeat([]byte{byte(i + 1)}, 32), PartSetHeader: types.PartSetHeader{Total: 1,
				Hash: bytes.Repeat([]byte{1}, 32)}}}
		sig, err := key.Sign(types.VoteSignBytes(c.Doc.ChainID, v.ToProto()))
		require.NoError(t, err)
		v.Signature, votes[i] = sig, v
	}
	ev, err := types.NewDuplicateVoteEvidence(votes[0], votes[1], c.Comet.LastBlockTime, c.Comet.LastValidators)
	require.NoError(t, err)
	c.Block(types.EvidenceList{ev}, nil)
	join := apptest.Join(5)
	id := join.ID()
	c.Add(apptest.Sign(0, &tx.Approve{Participant: 0, Proposal: id[:], Join: join.Raw}),
		apptest.Sign(2, &tx.Remove{Participant: 2, Subject: 3, Nonce: 1}))
	c.Close(1)
	return c
}

// find returns the only entry of a kind that a test accepts.
func find(t *testing.T, l *audit.Log, kind string, of func(audit.Entry) bool) audit.Entry {
	t.Helper()
	var found []audit.Entry
	for _, e := range l.Entries {
		if e.Kind == kind && (of == nil || of(e)) {
			found = append(found, e)
		}
	}
	require.Len(t, found, 1, kind)
	return found[0]
}

func TestLog(t *testing.T) {
	c := governed(t)
	l := logged(t, c)
	require.Len(t, l.Founders, 4)

	joined := find(t, l, "join", func(e audit.Entry) bool { return len(e.Approvals) == 3 })
	require.Equal(t, audit.Enacted, joined.Result)
	require.Nil(t, joined.Actor)
	require.Equal(t, joined.Height, joined.AcceptedHeight)
	require.Greater(t, joined.ResultHeight, joined.Height)
	for i, a := range joined.Approvals {
		require.Equal(t, uint32(i), a.Participant)
		require.Equal(t, joined.Height, a.Height)
	}
	left := find(t, l, "remove", func(e audit.Entry) bool { return *e.Actor == 1 })
	require.Equal(t, audit.Enacted, left.Result)
	require.Empty(t, left.Approvals, "a member that leaves asks nobody")
	asked := find(t, l, "remove", func(e audit.Entry) bool { return *e.Actor == 2 })
	require.Equal(t, audit.Waiting, asked.Result)
	require.Len(t, asked.Approvals, 1, "its proposer's own")
	carried := find(t, l, "join", func(e audit.Entry) bool { return len(e.Approvals) == 1 })
	require.Equal(t, uint32(0), carried.Approvals[0].Participant)
	require.Equal(t, audit.Waiting, carried.Result)
	require.Equal(t, audit.Applied, find(t, l, "evidence", nil).Result)
	require.Equal(t, "two votes of one validator at height "+fmt.Sprint(find(t, l, "validator-evidence", nil).Height-1),
		find(t, l, "validator-evidence", nil).Summary)

	p, err := l.Check(ctx, trusted(t, c, l))
	require.NoError(t, err)
	require.Equal(t, len(l.Entries), p.Entries)
	require.Equal(t, 5, p.Approvals)
	require.Equal(t, l.Entries[0].Height, uint64(p.First))
}

// TestLogOfWithdrawals: a proposal whose approvals were withdrawn is logged as such, without them, also
// if its Join waits again in the same block.
func TestLogOfWithdrawals(t *testing.T) {
	c := newChain(t, 4)
	c.Close(1)
	removal, join := apptest.Sign(2, &tx.Remove{Participant: 2, Subject: 3, Nonce: 1}), apptest.Join(5)
	id, joining := removal.ID(), join.ID()
	c.Add(removal, apptest.Approve(1, removal), join, apptest.Approve(0, join))
	c.Add(apptest.Sign(1, &tx.Withdraw{Participant: 1, Proposal: id[:]}))
	require.Len(t, find(t, logged(t, c), "remove", nil).Approvals, 1)
	c.Add(apptest.Sign(2, &tx.Withdraw{Participant: 2, Proposal: id[:]}),
		apptest.Sign(0, &tx.Withdraw{Participant: 0, Proposal: joining[:]}),
		apptest.Sign(1, &tx.Approve{Participant: 1, Proposal: joining[:], Join: join.Raw, Revocations: 1}))
	at := c.State.Height
	c.Close(1)
	l := logged(t, c)
	removed := find(t, l, "remove", nil)
	require.Equal(t, "withdrawn", removed.Result)
	require.Equal(t, at, removed.ResultHeight)
	require.Empty(t, removed.Approvals)
	first := find(t, l, "join", func(e audit.Entry) bool { return e.Height < at })
	require.Equal(t, "withdrawn", first.Result)
	again := find(t, l, "join", func(e audit.Entry) bool { return e.Height == at })
	require.Equal(t, audit.Waiting, again.Result)
	require.Len(t, again.Approvals, 1)
	_, err := l.Check(ctx, trusted(t, c, l))
	require.NoError(t, err)
}

// TestForgedLog: nothing of what a log's bytes say can be changed, whatever is changed along with it.
func TestForgedLog(t *testing.T) {
	c := governed(t)
	l := logged(t, c)
	one := uint32(1)
	for name, forge := range map[string]func(*audit.Log){
		"actor":   func(l *audit.Log) { l.Entries[0].Actor = &one },
		"kind":    func(l *audit.Log) { l.Entries[0].Kind = "upgrade" },
		"summary": func(l *audit.Log) { l.Entries[0].Summary = "nothing" },
		"height":  func(l *audit.Log) { l.Entries[0].Height++ },
		"time":    func(l *audit.Log) { l.Entries[0].Time = began },
		"hash":    func(l *audit.Log) { l.Entries[0].Hash = l.Entries[1].Hash },
		"details": func(l *audit.Log) { l.Entries[1].Details["moniker"] = "somebody" },
		"bytes":   func(l *audit.Log) { l.Entries[0].Raw[20] ^= 1 },
		"path":    func(l *audit.Log) { l.Entries[0].Proof.LeafHash[0] ^= 1 },
		"another block's": func(l *audit.Log) {
			last := len(l.Entries) - 1
			l.Entries[0].Raw, l.Entries[0].Proof = l.Entries[last].Raw, l.Entries[last].Proof
		},
		"approval": func(l *audit.Log) {
			i := slices.IndexFunc(l.Entries, func(e audit.Entry) bool { return len(e.Approvals) == 3 })
			l.Entries[i].Approvals[1].Participant = 3
		},
		"approval's time": func(l *audit.Log) {
			i := slices.IndexFunc(l.Entries, func(e audit.Entry) bool { return len(e.Approvals) == 3 })
			l.Entries[i].Approvals[1].Time = began
		},
		"evidence": func(l *audit.Log) {
			i := slices.IndexFunc(l.Entries, func(e audit.Entry) bool { return e.Kind == "validator-evidence" })
			l.Entries[i].Details["validator"] = "other"
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := copied(t, l)
			forge(other)
			_, err := other.Check(ctx, trusted(t, c, l))
			require.ErrorIs(t, err, audit.ErrLog)
			t.Log(err)
		})
	}
}

// TestForgedHeaders: a header that the validators have not signed, one too few and another genesis are
// rejected.
func TestForgedHeaders(t *testing.T) {
	c := governed(t)
	l := logged(t, c)
	blocks, err := l.Blocks()
	require.NoError(t, err)
	trust, err := light.Genesis(c.Doc, blocks[0])
	require.NoError(t, err)

	_, err = light.Genesis(newChain(t, 7).Doc, blocks[0])
	require.ErrorIs(t, err, light.ErrNotTrusted)

	late := trust
	late.Height, late.Hash = blocks[2].Height, blocks[2].Hash()
	h, err := light.HeldHeaders(late, blocks)
	require.NoError(t, err)
	_, err = h.Header(ctx, blocks[1].Height)
	require.ErrorContains(t, err, "nothing leads back")
	_, err = h.Header(ctx, blocks[3].Height)
	require.NoError(t, err)

	forged := *blocks[3]
	header := *forged.Header
	header.DataHash = bytes.Repeat([]byte{7}, 32)
	commit := *forged.Commit
	forged.SignedHeader = &types.SignedHeader{Header: &header, Commit: &commit}
	commit.BlockID.Hash = header.Hash()
	_, err = light.HeldHeaders(trust, append(slices.Clone(blocks[:3]), &forged))
	require.ErrorIs(t, err, light.ErrNotTrusted)

	_, err = light.HeldHeaders(trust, slices.Clone(blocks[1:]))
	require.ErrorIs(t, err, light.ErrNotTrusted)

	l.Headers = slices.DeleteFunc(l.Headers, func(h audit.Header) bool { return uint64(h.Height) == l.Entries[1].Height })
	blocks, err = l.Blocks()
	require.NoError(t, err)
	h, err = light.HeldHeaders(trust, blocks)
	require.NoError(t, err)
	_, err = l.Check(context.Background(), h)
	require.ErrorContains(t, err, "no header of height")
}

// TestLogCSV: a line for each founder and entry, and no cell that a spreadsheet would compute.
func TestLogCSV(t *testing.T) {
	c := governed(t)
	l := logged(t, c)
	l.Founders[0].Moniker, l.Entries[0].Moniker = "=cmd()", "@sum"
	var out bytes.Buffer
	require.NoError(t, l.WriteCSV(&out))
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(l.Founders)+len(l.Entries))
	for _, row := range rows[1:] {
		for _, cell := range row {
			require.NotContains(t, "=+-@", append([]byte(cell), ' ')[:1])
		}
	}
	require.Contains(t, rows[1], "'=cmd()")

	l.Keep([]string{"join"})
	require.Len(t, l.Entries, 2)
	out.Reset()
	l.WriteText(&out)
	require.Contains(t, out.String(), "0@")
}
