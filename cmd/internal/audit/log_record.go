package audit

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/cometbft/cometbft/crypto/merkle"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// RunLog replays the chain of a source, and returns the log of its operations with the report. The entries end where
// the replay ends. After each block's entries are made, RunLog also calls Options.Executed.
func RunLog(ctx context.Context, src Source, o Options) (*Log, *Report, error) {
	rec := recorder{log: o.Log, proposals: map[string]int{}}
	if o.Log == nil {
		rec.log = &Log{Entries: []Entry{}, Headers: []Header{}}
	}
	for i, e := range rec.log.Entries {
		if e.Result == Waiting || e.Result == Accepted {
			rec.proposals[e.Proposal] = i
		}
	}
	also := o.Executed
	o.Executed = func(b Executed) error {
		err := rec.block(b)
		if err == nil && also != nil {
			err = also(b)
		}
		return err
	}
	report, err := Run(ctx, src, o)
	if err != nil {
		return nil, report, err
	}
	rec.log.ChainID, rec.log.First, rec.log.Last = report.ChainID, report.First, report.Last
	g, err := app.DecodeGenesis(cmp.Or(o.Genesis, src.Genesis()).AppState)
	if err != nil {
		return nil, report, err
	}
	rec.log.Founders = []Founder{}
	for _, p := range g.Participants {
		rec.log.Founders = append(rec.log.Founders, Founder{p.Index, p.Moniker})
	}
	return rec.log, report, nil
}

// A recorder writes a log from executed blocks.
type recorder struct {
	log       *Log
	proposals map[string]int // the entry of each proposal that waits, by its id
	last      Executed       // the block before
	kept      int64          // the height of the last header in the log
}

// block adds the entries of a block.
func (r *recorder) block(b Executed) error {
	before := len(r.log.Entries)
	if err := errors.Join(r.transactions(b), r.evidence(b)); err != nil {
		return err
	}
	r.settle(b)
	err := r.headers(b, len(r.log.Entries) > before)
	r.last = b
	return err
}

// transactions adds an entry for each operation, and counts the approvals.
func (r *recorder) transactions(b Executed) error {
	for i, t := range b.Txs {
		raw := b.Block.Txs[i]
		if _, ofRound := tx.PlaceOf(t); ofRound {
			continue
		}
		e, err := entryOf(t)
		if err != nil {
			return err
		}
		e.Raw, e.Proof, e.Hash = raw, b.Block.Txs.Proof(i).Proof, hex.EncodeToString(raw.Hash())
		if err := r.approval(b, t, r.add(b, e)); err != nil {
			return err
		}
	}
	return nil
}

// approval counts an operation if it is an approval or a withdrawal. If the approval carries a join, it
// adds the join's entry.
func (r *recorder) approval(b Executed, t *tx.Tx, e Entry) error {
	id := e.Proposal
	if w, ok := t.Body.(*tx.Withdraw); ok {
		r.withdraw(b, t, id, w.Participant)
		return nil
	}
	if a, ok := t.Body.(*tx.Approve); ok {
		if _, waits := r.proposals[id]; !waits && len(a.Join) > 0 {
			carried, err := carriedIn(t)
			if err != nil {
				return err
			}
			carried.Raw, carried.Proof, carried.Hash = e.Raw, e.Proof, e.Hash
			r.add(b, carried)
		}
	} else if now := proposalIn(b.State, id); id == "" || e.Actor == nil || now != nil && len(now.Approvals) == 0 {
		return nil // not a proposal, or a proposal that the proposer's transaction does not approve
	}
	at, waits := r.proposals[id]
	if waits {
		p := &r.log.Entries[at]
		p.Approvals = append(p.Approvals, Approval{*e.Actor, monikerOf(b.State, e.Actor), e.Height, e.Time, e.Hash})
	}
	return nil
}

// withdraw removes a participant's approval from the entry of a proposal, and settles the entry if the
// Withdraw ended the proposal.
func (r *recorder) withdraw(b Executed, t *tx.Tx, id string, participant uint32) {
	at, waits := r.proposals[id]
	if !waits {
		return
	}
	p := &r.log.Entries[at]
	p.Approvals = slices.DeleteFunc(p.Approvals, func(a Approval) bool { return a.Participant == participant })
	for _, d := range b.Discarded {
		if d.By != nil && d.By.Hash == t.Hash {
			r.discard(d, uint64(b.Block.Height))
		}
	}
}

// add appends an entry of a block and returns it whole.
func (r *recorder) add(b Executed, e Entry) Entry {
	e.Height, e.Time = uint64(b.Block.Height), b.Block.Time
	e.Moniker, e.Result, e.ResultHeight = monikerOf(b.State, e.Actor), Applied, e.Height
	if e.Proposal != "" && e.Kind != tx.KindApprove.String() && e.Kind != tx.KindWithdraw.String() {
		r.proposals[e.Proposal] = len(r.log.Entries)
		e.Result = Waiting
	}
	r.log.Entries = append(r.log.Entries, e)
	return e
}

// evidence adds an entry for each piece of evidence against a validator.
func (r *recorder) evidence(b Executed) error {
	raws := make([][]byte, len(b.Block.Evidence.Evidence))
	for i, e := range b.Block.Evidence.Evidence {
		raws[i] = e.Bytes()
	}
	_, proofs := merkle.ProofsFromByteSlices(raws)
	for i, e := range b.Block.Evidence.Evidence {
		entry, err := evidenceEntry(e)
		if err != nil {
			return err
		}
		entry.Proof = *proofs[i]
		r.add(b, entry)
	}
	return nil
}

// settle records the results of the proposals in a block.
func (r *recorder) settle(b Executed) {
	height := uint64(b.Block.Height)
	for _, c := range b.Enacted {
		id := hex.EncodeToString(c.Proposal)
		at, known := r.proposals[id]
		if !known {
			continue
		}
		delete(r.proposals, id)
		e := &r.log.Entries[at]
		if e.Result, e.ResultHeight = Enacted, height; e.AcceptedHeight == 0 {
			e.AcceptedHeight = height
		}
		if c.Refused != nil {
			e.Result, e.Why = Rejected, c.Refused.Error()
		}
	}
	for _, d := range b.Discarded {
		if d.By == nil {
			r.discard(d, height)
		}
	}
	for id, at := range r.proposals {
		e, p := &r.log.Entries[at], proposalIn(b.State, id)
		switch {
		case p == nil:
			delete(r.proposals, id)
			e.Result, e.ResultHeight = Dropped, height
		case p.Accepted && e.AcceptedHeight == 0:
			e.Result, e.ResultHeight, e.AcceptedHeight = Accepted, height, height
		}
	}
}

// discard records the result of a proposal that a block discarded.
func (r *recorder) discard(d app.Discard, height uint64) {
	id := hex.EncodeToString(d.Proposal)
	if at, waits := r.proposals[id]; waits {
		delete(r.proposals, id)
		r.log.Entries[at].Result, r.log.Entries[at].ResultHeight = d.Cause(), height
	}
}

// headers adds the header of a block that has entries. It also adds the first header, and the headers on both sides of
// a change of the validators, so that a light client can go from each added header to the next.
func (r *recorder) headers(b Executed, entries bool) error {
	change := r.last.Block == nil || b.Block.ValidatorsHash.String() != r.last.Block.ValidatorsHash.String()
	if change && r.last.Block != nil {
		if err := r.header(r.last); err != nil {
			return err
		}
	}
	if change || entries {
		return r.header(b)
	}
	return nil
}

// header adds a header once. It adds none whose signatures are unknown.
func (r *recorder) header(b Executed) error {
	if b.Commit == nil || r.kept == b.Block.Height {
		return nil
	}
	raw, err := modelfile.EncodeHeader(b.Light())
	r.kept = b.Block.Height
	r.log.Headers = append(r.log.Headers, Header{b.Block.Height, raw})
	return err
}

// proposalIn returns the proposal with an id in hexadecimal that waits in a state, or nil.
func proposalIn(s *app.State, id string) *app.Proposal {
	i := slices.IndexFunc(s.Proposals, func(p app.Proposal) bool { return hex.EncodeToString(p.Id) == id })
	if i < 0 {
		return nil
	}
	return &s.Proposals[i]
}

func monikerOf(s *app.State, participant *uint32) string {
	if participant == nil || uint64(*participant) >= uint64(len(s.Participants)) {
		return ""
	}
	return s.Participants[*participant].Moniker
}

// kindEvidence is the kind of an entry for CometBFT's evidence against a validator.
const kindEvidence = "validator-evidence"

// entryOf returns what a transaction says without the state: its kind, its sender and its content.
func entryOf(t *tx.Tx) (Entry, error) {
	d, err := app.Describe(t)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Kind: t.Kind().String(), Summary: d.Summary, Proposal: d.Value("proposal"), Details: map[string]string{}}
	if d.Sent {
		e.Actor = &d.Participant
	}
	for _, a := range append(d.Attributes, d.Details...) {
		if a.Key != "proposal" && (a.Key != "participant" || !d.Sent) {
			e.Details[a.Key] = a.Value
		}
	}
	return e, nil
}

// carriedIn returns the entry of the join that an approval carries.
func carriedIn(t *tx.Tx) (Entry, error) {
	join, err := t.CarriedJoin()
	if err != nil {
		return Entry{}, fmt.Errorf("join that an approval carries: %w", err)
	}
	return entryOf(join)
}

// evidenceEntry returns what a piece of CometBFT's evidence says without the state.
func evidenceEntry(ev types.Evidence) (Entry, error) {
	p, err := types.EvidenceToProto(ev)
	if err != nil {
		return Entry{}, err
	}
	raw, err := p.Marshal()
	e := Entry{Kind: kindEvidence, Summary: fmt.Sprintf("evidence about height %d", ev.Height()), Raw: raw,
		Hash: hex.EncodeToString(ev.Hash()), Details: map[string]string{"of height": fmt.Sprint(ev.Height())}}
	switch ev := ev.(type) {
	case *types.DuplicateVoteEvidence:
		e.Summary = fmt.Sprintf("two votes of one validator at height %d", ev.Height())
		e.Details["validator"] = ev.VoteA.ValidatorAddress.String()
	case *types.LightClientAttackEvidence:
		e.Summary = fmt.Sprintf("a forged header of height %d", ev.Height())
		for i, v := range ev.ByzantineValidators {
			e.Details[fmt.Sprintf("validator %d", i)] = v.Address.String()
		}
	}
	return e, err
}

// decodeEvidence decodes the raw bytes of an entry for evidence.
func decodeEvidence(raw []byte) (types.Evidence, error) {
	var p cmtproto.Evidence
	if err := p.Unmarshal(raw); err != nil {
		return nil, err
	}
	return types.EvidenceFromProto(&p)
}
