//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	endian "encoding/binary"
	"errors"
	"sync"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
)

// baseline is the least application that a round of learning can be compared
// with: N transactions of a gradient's size make a round, the proposer waits
// for them, and the block that holds them is stored. It checks no signature,
// aggregates nothing and has no leader.
type baseline struct {
	abcitypes.BaseApplication

	n    int
	wait time.Duration
	db   dbm.DB

	mu      sync.Mutex
	round   uint64
	height  int64
	hash    []byte
	pending map[uint64]map[uint32][]byte // by round and node
	changed chan struct{}
	batch   [][]byte
}

// newBaseline returns the application of one of n nodes.
func newBaseline(n int, wait time.Duration, db dbm.DB) *baseline {
	return &baseline{n: n, wait: wait, db: db, pending: map[uint64]map[uint32][]byte{}, changed: make(chan struct{})}
}

// baselineTx returns a transaction of size bytes for a round.
func baselineTx(round uint64, node uint32, size int) []byte {
	t := make([]byte, max(size, 12))
	endian.BigEndian.PutUint64(t, round)
	endian.BigEndian.PutUint32(t[8:], node)
	sum := sha256.Sum256(t[:12])
	for i := 12; i < len(t); i++ {
		t[i] = sum[i%32] + byte(i/32)
	}
	return t
}

func (b *baseline) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Info returns the last height.
func (b *baseline) Info(context.Context, *abcitypes.RequestInfo) (*abcitypes.ResponseInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &abcitypes.ResponseInfo{LastBlockHeight: b.height, LastBlockAppHash: b.hash}, nil
}

// CheckTx keeps one transaction a node and round.
func (b *baseline) CheckTx(_ context.Context, req *abcitypes.RequestCheckTx) (*abcitypes.ResponseCheckTx, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(req.Tx) < 12 {
		return &abcitypes.ResponseCheckTx{Code: 1}, nil
	}
	round, node := endian.BigEndian.Uint64(req.Tx), endian.BigEndian.Uint32(req.Tx[8:])
	if round < b.round || round > b.round+1 {
		return &abcitypes.ResponseCheckTx{Code: 2}, nil
	}
	if b.pending[round] == nil {
		b.pending[round] = map[uint32][]byte{}
	}
	b.pending[round][node] = req.Tx
	b.notify()
	return &abcitypes.ResponseCheckTx{}, nil
}

// PrepareProposal waits for the round's transactions.
func (b *baseline) PrepareProposal(ctx context.Context,
	_ *abcitypes.RequestPrepareProposal) (*abcitypes.ResponsePrepareProposal, error) {
	deadline := time.After(b.wait)
	for {
		b.mu.Lock()
		changed, have := b.changed, b.pending[b.round]
		if len(have) == b.n {
			txs := make([][]byte, 0, b.n)
			for i := range uint32(b.n) {
				txs = append(txs, have[i])
			}
			b.mu.Unlock()
			return &abcitypes.ResponsePrepareProposal{Txs: txs}, nil
		}
		b.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			return &abcitypes.ResponsePrepareProposal{}, nil
		case <-ctx.Done():
			return &abcitypes.ResponsePrepareProposal{}, nil
		}
	}
}

// ProcessProposal accepts an empty block or a whole round.
func (b *baseline) ProcessProposal(_ context.Context,
	req *abcitypes.RequestProcessProposal) (*abcitypes.ResponseProcessProposal, error) {
	status := abcitypes.ResponseProcessProposal_REJECT
	if len(req.Txs) == 0 || len(req.Txs) == b.n {
		status = abcitypes.ResponseProcessProposal_ACCEPT
	}
	return &abcitypes.ResponseProcessProposal{Status: status}, nil
}

// FinalizeBlock hashes the block.
func (b *baseline) FinalizeBlock(_ context.Context,
	req *abcitypes.RequestFinalizeBlock) (*abcitypes.ResponseFinalizeBlock, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &abcitypes.ResponseFinalizeBlock{}
	if len(req.Txs) > 0 {
		h := sha256.New()
		h.Write(b.hash)
		for _, t := range req.Txs {
			h.Write(t)
			r.TxResults = append(r.TxResults, &abcitypes.ExecTxResult{})
		}
		b.hash = h.Sum(nil)
	}
	b.height, b.batch = req.Height, req.Txs
	r.AppHash = b.hash
	return r, nil
}

// Commit stores the block's transactions.
func (b *baseline) Commit(context.Context, *abcitypes.RequestCommit) (*abcitypes.ResponseCommit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.db.NewBatch()
	defer batch.Close()
	err := batch.Set([]byte("height"), endian.BigEndian.AppendUint64(nil, uint64(b.height)))
	for _, t := range b.batch {
		err = errors.Join(err, batch.Set(t[:12], t))
	}
	if err = errors.Join(err, batch.WriteSync()); err != nil {
		return nil, err
	}
	if len(b.batch) > 0 {
		delete(b.pending, b.round)
		b.round++
		b.notify()
	}
	return &abcitypes.ResponseCommit{}, nil
}

// send submits this node's transaction of every round as it opens.
func (b *baseline) send(ctx context.Context, node uint32, size int, submit func(context.Context, []byte) error) {
	for round := uint64(0); ; round++ {
		for {
			b.mu.Lock()
			changed, open := b.changed, b.round
			b.mu.Unlock()
			if open >= round {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
		if submit(ctx, baselineTx(round, node, size)) != nil && ctx.Err() != nil {
			return
		}
	}
}
