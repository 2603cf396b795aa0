package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// Options are the settings of a replay. The zero value works.
type Options struct {
	// Genesis is the auditor's own copy, which replaces the source's genesis. May be nil.
	Genesis *types.GenesisDoc
	// Progress is called after every block. May be nil.
	Progress func(Progress)
	// Executed is called with every block that was checked and executed. Its first error ends the replay, and Run
	// returns it. May be nil.
	Executed func(Executed) error
	// From is the end of another release's replay. The blocks up to it are read and not executed. Nil means genesis.
	From *Handover
	// Log is the log of the blocks up to From, which RunLog continues and changes.
	Log *Log
}

// A replay re-executes a chain.
type replay struct {
	src    Source
	each   func(Executed) error // may be nil
	report *Report
	doc    *types.GenesisDoc
	state  *app.State
	record *app.Record // of the last executed block, nil if it closed no round

	previous, validators, next *types.ValidatorSet // of the last block, the current block and the block after it
	params                     types.ConsensusParams
	last                       types.BlockID // of the last executed block
	results                    []byte        // the hash of that block's transaction results
	past                       past
	began, ended               time.Time // the times of the first and the last executed block
}

// block is a block as the replay reads it. raw is nil if the block cannot be read. sound is nil
// unless the block is valid without regard to the chain; fault then says why it is not.
type block struct {
	raw   *cmtproto.Block
	sound *types.Block
	fault error
}

// Run re-executes the chain of a source. An error means that the chain could not be audited. All
// findings, a divergence included, are in the report.
func Run(ctx context.Context, src Source, o Options) (*Report, error) {
	start := time.Now()
	r, err := begin(src, cmp.Or(o.Genesis, src.Genesis()))
	if err != nil {
		return nil, err
	}
	r.each = o.Executed
	if o.From != nil {
		if err = r.take(o.From); err == nil {
			err = r.skim(ctx, o.From)
		}
	}
	if err == nil {
		err = r.run(ctx, func(height uint64) {
			if o.Progress != nil {
				o.Progress(At(height, src.Done(), time.Since(start)))
			}
		})
	}
	var d *Divergence
	var other *OtherVersion
	switch {
	case errors.As(err, &d):
		own := src.Genesis()
		if r.report.Divergence = d; own != nil && o.Genesis != nil && !bytes.Equal(own.AppState, o.Genesis.AppState) {
			d.Reason += ": the genesis that was given is another than the one beside the blocks"
		}
	case errors.As(err, &other):
		r.report.OtherVersion = other
	case err != nil:
		return nil, err
	}
	r.report.ReplaySeconds = time.Since(start).Seconds()
	return r.report, r.finish()
}

// begin returns a replay before its first block.
func begin(src Source, doc *types.GenesisDoc) (*replay, error) {
	if err := genesis.Complete(doc); err != nil {
		return nil, fmt.Errorf("genesis: %w", err)
	}
	g, err := app.DecodeGenesis(doc.AppState)
	if err != nil {
		return nil, err
	}
	if err := genesis.CheckValidators(doc, g); err != nil {
		return nil, err
	}
	// Other versions may have other rules, but none is 0, which a genesis without a version has.
	if p := doc.ConsensusParams; p.Version.App == app.Version || p.Version.App == 0 {
		if err := genesis.CheckConsensus(p.ToProto(), g, len(doc.Validators)); err != nil {
			return nil, err
		}
	}
	s, err := app.NewState(doc.ChainID, uint64(doc.InitialHeight), doc.ConsensusParams.Block.MaxBytes, g)
	if err != nil {
		return nil, err
	}
	r := &replay{src: src, doc: doc, state: s, params: *doc.ConsensusParams, results: sm.TxResultsHash(nil),
		past:   past{committed: map[string]int64{}},
		report: &Report{ChainID: doc.ChainID, First: uint64(doc.InitialHeight), Last: s.Height}}
	var initial []*types.Validator
	for _, v := range doc.Validators {
		initial = append(initial, types.NewValidator(v.PubKey, v.Power))
	}
	r.validators = new(types.ValidatorSet)
	if err := r.validators.UpdateWithChangeSet(initial); err != nil { // NewValidatorSet would panic
		return nil, fmt.Errorf("genesis: %w", err)
	}
	r.next = r.validators.Copy()
	return r, nil
}

// run checks and executes the blocks in order. It checks each block against the commit in the next
// block, and the last against the source's tip. It calls each after every block.
func (r *replay) run(ctx context.Context, each func(height uint64)) error {
	b, err := r.read(ctx, r.state.Height+1)
	for err == nil {
		height := r.state.Height + 1
		var following *block
		following, err = r.read(ctx, height+1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var tip Tip
		if err != nil {
			if tip, err = r.src.Tip(ctx); err != nil {
				return err
			}
		} else if following.sound != nil {
			tip = Tip{Commit: following.sound.LastCommit}
		}
		if err := r.step(ctx, b, tip.Commit); err != nil {
			return err
		}
		each(height)
		if following == nil {
			return r.checkTip(ctx, tip)
		}
		b = following
	}
	if errors.Is(err, io.EOF) {
		return nil // a chain without blocks
	}
	return err
}

// read returns the next block. Its fault is set if it is not a sound block of that height.
func (r *replay) read(ctx context.Context, height uint64) (*block, error) {
	raw, err := r.src.Next(ctx)
	switch {
	case errors.Is(err, ErrDamaged):
		return &block{fault: err}, nil
	case err != nil:
		return nil, err
	}
	b := &block{raw: raw}
	sound, err := types.BlockFromProto(raw)
	switch {
	case err != nil:
		b.fault = err
	case sound.ChainID != r.doc.ChainID:
		b.fault = fmt.Errorf("chain id is %q, the genesis is of %q", sound.ChainID, r.doc.ChainID)
	case uint64(sound.Height) != height:
		b.fault = fmt.Errorf("height is %d, want %d", sound.Height, height)
	case !sound.LastCommit.BlockID.Equals(sound.LastBlockID): // the header's hash of a commit covers its signatures alone
		b.fault = fmt.Errorf("the commit is of block %X, the header names %X", sound.LastCommit.BlockID.Hash,
			sound.LastBlockID.Hash)
	case sound.LastCommit.Height != sound.Height-1 && sound.Height > r.doc.InitialHeight:
		b.fault = fmt.Errorf("the commit is of height %d", sound.LastCommit.Height)
	default:
		b.sound = sound
	}
	return b, nil
}

// step checks a block and executes it.
func (r *replay) step(ctx context.Context, b *block, commit *types.Commit) error {
	height := r.state.Height + 1
	if b.sound == nil {
		d := &Divergence{Height: height, Kind: KindBlock, Reason: b.fault.Error()}
		if b.raw != nil {
			d.Transactions = r.blame(b.raw.Data.Txs)
		}
		return d
	}
	id, err := identify(b.sound)
	if err != nil {
		return err
	}
	if !b.sound.LastBlockID.Equals(r.last) {
		return r.divergence(b, KindBlock, fmt.Sprintf("last block id is %X, the block before is %X", b.sound.LastBlockID.Hash,
			r.last.Hash))
	}
	if err := r.checkCommit(b, id, commit); err != nil {
		return err
	}
	if hash := r.state.Hash(); !bytes.Equal(b.sound.AppHash, hash[:]) {
		return r.appHash(ctx, b.sound.AppHash)
	}
	if reason := r.checkHeader(b.sound); reason != "" {
		return r.divergence(b, KindBlock, reason)
	}
	if made := r.version(height); made != app.Version {
		return &OtherVersion{Height: height, Version: made, Program: app.Version}
	}
	if err := r.checkEvidence(b.sound); err != nil {
		return r.divergence(b, KindBlock, err.Error())
	}
	return r.execute(b, id, commit)
}

// identify returns a block's id, which the validators sign.
func identify(b *types.Block) (types.BlockID, error) {
	parts, err := b.MakePartSet(types.BlockPartSizeBytes)
	if err != nil {
		return types.BlockID{}, fmt.Errorf("block %d: %w", b.Height, err)
	}
	return types.BlockID{Hash: b.Hash(), PartSetHeader: parts.Header()}, nil
}

// divergence returns a divergence at a block, with the transactions that blame finds.
func (r *replay) divergence(b *block, kind, reason string) *Divergence {
	return &Divergence{Height: uint64(b.sound.Height), Kind: kind, Reason: reason, Transactions: r.blame(b.raw.Data.Txs)}
}

// checkCommit verifies all signatures of a block's commit against the validators that the replay
// derived. A nil commit is unknown, and checkCommit then checks nothing.
func (r *replay) checkCommit(b *block, id types.BlockID, commit *types.Commit) error {
	if commit == nil {
		return nil
	}
	if !commit.BlockID.Equals(id) {
		return r.divergence(b, KindCommit, fmt.Sprintf("block has id %X, the validators signed %X", id.Hash,
			commit.BlockID.Hash))
	}
	if err := types.VerifyCommit(r.doc.ChainID, r.validators, id, b.sound.Height, commit); err != nil {
		return r.divergence(b, KindCommit, fmt.Sprintf("its commit, which the next block holds: %v", err))
	}
	for _, sig := range commit.Signatures {
		if sig.BlockIDFlag != types.BlockIDFlagAbsent {
			r.report.Signatures++
		}
	}
	return nil
}

// execute decodes and executes a block whose header and commit have been checked.
func (r *replay) execute(b *block, id types.BlockID, commit *types.Commit) error {
	height := r.state.Height + 1
	txs := make([]*tx.Tx, len(b.sound.Txs))
	var err error
	for i, raw := range b.sound.Txs {
		if txs[i], err = tx.Decode(raw); err != nil {
			return r.divergence(b, KindExecution, fmt.Sprintf("transaction %d: %v", i, err))
		}
	}
	proven, err := abci.MisbehaviorOf(b.sound.Evidence.Evidence)
	if err != nil {
		return r.divergence(b, KindExecution, err.Error())
	}
	out, err := r.state.SafeExecute(app.Block{Height: height, Txs: txs, Misbehavior: proven})
	if err != nil {
		return r.divergence(b, KindExecution, err.Error())
	}
	before := r.state
	r.state, r.record, r.last = out.State, out.Record, id
	r.past.add(b.sound, r.validators, r.params.Evidence)
	r.count(b.sound, out)
	if r.each != nil {
		if err := r.each(Executed{out, before, txs, b.sound, commit, r.validators}); err != nil {
			return err
		}
	}
	r.results = sm.TxResultsHash(abci.TxResults(txs, out.Record))
	if updates := abci.ConsensusUpdates(out); updates != nil {
		r.params = r.params.Update(updates)
	}
	var updates []*types.Validator
	for _, v := range out.Validators {
		updates = append(updates, types.NewValidator(ed25519.PubKey(v.ConsensusKey), v.Power))
	}
	r.previous, r.validators, r.next = r.validators, r.next, r.next.Copy()
	if err := r.next.UpdateWithChangeSet(updates); err != nil {
		return r.divergence(b, KindExecution, fmt.Sprintf("validator updates: %v", err))
	}
	return nil
}

// count adds an executed block to the report.
func (r *replay) count(b *types.Block, out *app.Outcome) {
	r.report.Last = out.State.Height
	r.report.Blocks++
	r.report.Transactions += uint64(len(b.Txs))
	if r.began.IsZero() {
		r.began = b.Time
	}
	r.ended = b.Time
	if out.Record != nil {
		r.report.Rounds++
		r.report.Gradients += uint64(len(out.Record.Contributions))
		r.report.BadLeaders = append(r.report.BadLeaders, badLeaders(out.Record)...)
	}
}

// checkTip compares the application hash after the last block with the tip's.
func (r *replay) checkTip(ctx context.Context, tip Tip) error {
	if tip.AppHash == nil {
		return nil
	}
	r.report.TipChecked = true
	if hash := r.state.Hash(); !bytes.Equal(tip.AppHash, hash[:]) {
		return r.appHash(ctx, tip.AppHash)
	}
	return nil
}

// finish completes the report from the last state.
func (r *replay) finish() (err error) {
	hash, model := r.state.Hash(), app.ModelHash(r.state.Model)
	r.report.AppHash, r.report.ModelHash = hex.EncodeToString(hash[:]), hex.EncodeToString(model[:])
	r.report.Epochs = r.state.Progress.Epoch + 1
	r.report.Offences = append([]app.Offence{}, r.state.Offences...)
	r.report.BadLeaders = append([]BadLeader{}, r.report.BadLeaders...) // never null in JSON, as the offences
	if span := r.ended.Sub(r.began); span > 0 {
		r.report.ChainSeconds = span.Seconds()
		r.report.Ratio = r.report.ReplaySeconds / r.report.ChainSeconds
	}
	if r.report.Handover, err = r.handover(); err != nil {
		return err
	}
	r.report.Spend, err = query.Spends(r.state)
	return err
}

// Executed is a block that a replay has checked and executed, with its results.
type Executed struct {
	*app.Outcome
	Before     *app.State // that the block was executed on
	Txs        []*tx.Tx   // of the block, decoded
	Block      *types.Block
	Commit     *types.Commit       // that the replay verified, nil if none is known
	Validators *types.ValidatorSet // that the replay derived for the height
}

// ParamsOf returns the parameters of an epoch, which may have ended in the state's last block.
func ParamsOf(s *app.State, epoch uint64) params.Params {
	for _, e := range s.Epochs {
		if e.Epoch == epoch {
			return e.Params
		}
	}
	return s.Params
}

// Light returns the block's header with its signatures and validators. Commit must not be nil.
func (b Executed) Light() *types.LightBlock {
	set := b.Validators.Copy()
	set.GetProposer() // sets the proposer, which the encoding needs and no verification reads
	return &types.LightBlock{SignedHeader: &types.SignedHeader{Header: &b.Block.Header, Commit: b.Commit},
		ValidatorSet: set}
}
