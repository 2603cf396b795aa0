package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// ErrNoRound means that the chain has closed no round that a header proves.
var ErrNoRound = errors.New("the chain has closed no round yet, so there is nothing to report")

// Collect replays the chain of a source and returns the evidence of its training, up to the last
// block whose signatures are known. The evidence ends where the replay ends. It declares only the
// program of earlier evidence, which another release collected up to an upgrade. If earlier is not
// nil, Collect continues and changes it; its headers must be those of the source's genesis.
func Collect(ctx context.Context, src audit.Source, o audit.Options, earlier *Evidence) (*Evidence, *audit.Report,
	error) {
	c := &collector{evidence: &Evidence{Version: Version}}
	if earlier != nil {
		if err := c.follow(earlier, &o); err != nil {
			return nil, nil, err
		}
	}
	o.Executed = c.block
	log, report, err := audit.RunLog(ctx, src, o)
	if err = errors.Join(err, c.err); err != nil {
		return nil, report, err
	}
	switch {
	case c.last.Block != nil:
	case report.Divergence != nil:
		return nil, report, report.Divergence
	case report.OtherVersion != nil:
		return nil, report, fmt.Errorf("%w: let the release of that version write the dossier of these heights, and "+
			"continue it with --after", report.OtherVersion)
	case earlier != nil:
		return nil, report, fmt.Errorf("%w: no block after height %d is known to be signed", audit.ErrHandover, report.Last)
	}
	if err := c.finish(log); err != nil {
		return nil, report, err
	}
	if last := c.last.Block.Height; report.Handover != nil && report.Handover.Height == uint64(last) {
		c.evidence.Handover = report.Handover
	}
	return c.evidence, report, nil
}

// follow begins with earlier evidence, and with the end of the replay that collected it.
func (c *collector) follow(earlier *Evidence, o *audit.Options) error {
	h := earlier.Handover
	if h == nil {
		return fmt.Errorf("%w: the dossier does not end at an upgrade, so it has nothing to continue from",
			audit.ErrHandover)
	}
	chain, err := earlier.Chain()
	if err != nil {
		return err
	}
	if last := chain.Last(); uint64(last.Height) != h.Height {
		return fmt.Errorf("%w: its headers end at height %d, its replay at %d", audit.ErrHandover, last.Height, h.Height)
	}
	c.evidence.Headers, c.evidence.Members = earlier.Headers, earlier.Members
	c.evidence.Declared.Program = earlier.Declared.Program
	if n := len(earlier.Members); n == 0 || earlier.Members[n-1].Height < h.Height {
		c.evidence.Members = append(c.evidence.Members, Members{h.Height, earlier.Bundle.Participants})
	}
	for i, raw := range earlier.Records {
		r, err := app.DecodeRecord(raw)
		if err != nil {
			return fmt.Errorf("%w: record %d: %w", audit.ErrHandover, i, err)
		}
		c.records = append(c.records, &r)
	}
	closed, err := h.Closed()
	if err != nil {
		return fmt.Errorf("%w: record of height %d: %w", audit.ErrHandover, h.Height, err)
	}
	if closed != nil {
		c.records = append(c.records, closed)
	}
	// The bundle has the signatures of the last header. A light client goes from that header to the
	// next version's.
	log := earlier.Log
	if n := len(log.Headers); n == 0 || uint64(log.Headers[n-1].Height) < h.Height {
		log.Headers = append(log.Headers, audit.Header{Height: int64(h.Height), Light: earlier.Bundle.Header})
	}
	o.From, o.Log = h, log
	o.From.Block = chain.Last().Hash()
	return nil
}

// A collector gathers evidence from executed blocks.
type collector struct {
	evidence *Evidence
	records  []*app.Record
	last     audit.Executed // the last block with a commit
	unproven []Closed       // by the blocks from last on
	err      error          // the first
}

func (c *collector) block(b audit.Executed) {
	if c.err != nil {
		return
	}
	if b.Commit != nil { // the header proves the state after all blocks before it
		c.unproven = nil
	}
	if r := b.Record; r != nil {
		c.unproven = append(c.unproven, Closed{uint64(b.Block.Height), r.Epoch, r.Round})
	}
	if b.Commit == nil {
		return
	}
	header, err := b.Block.Header.ToProto().Marshal()
	if err != nil {
		c.err = err
		return
	}
	c.evidence.Headers = append(c.evidence.Headers, header)
	if c.last.Block == nil {
		c.members(uint64(b.Block.Height), b.Before)
	}
	if before := c.last; before.Block != nil &&
		membership(before.Before.Participants) != membership(b.Before.Participants) {
		c.members(uint64(before.Block.Height), before.Before)
		c.members(uint64(b.Block.Height), b.Before)
	}
	if before := c.last; before.Block != nil && before.Record != nil {
		c.records = append(c.records, before.Record)
	}
	c.last = b
}

// members adds once the participants of a state that the header of a height proves.
func (c *collector) members(height uint64, s *app.State) {
	all := c.evidence.Members
	if len(all) > 0 && all[len(all)-1].Height == height {
		return
	}
	proven, err := proof.State(s, "participants")
	c.err = errors.Join(c.err, err)
	c.evidence.Members = append(all, Members{height, proven})
}

// finish adds the proofs of the last state, and the log.
func (c *collector) finish(log *audit.Log) error {
	if len(c.records) == 0 {
		return ErrNoRound
	}
	e, s := c.evidence, c.last.Before
	var bundle proof.Bundle
	var failed error
	for _, p := range []struct {
		key string
		to  *proof.Proven
	}{{"progress", &bundle.Progress}, {"params", &bundle.Params}, {"epochs", &bundle.Epochs},
		{"participants", &bundle.Participants}, {"closed", &e.Closed}, {"history", &e.History},
		{"offences", &e.Offences}, {"proposals", &e.Proposals}} {
		var err error
		*p.to, err = proof.State(s, p.key)
		failed = errors.Join(failed, err)
	}
	var history proof.History
	err := history.Grow(uint64(len(c.records)), func(after *app.Record, each func(*app.Record) bool) error {
		for _, r := range c.records[slices.Index(c.records, after)+1:] {
			if !each(r) {
				break
			}
		}
		return nil
	})
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	if bundle.Round, err = history.Round(s, c.records[len(c.records)-1]); err != nil {
		return err
	}
	if e.Bundle, err = modelfile.NewBundle(c.last.Light(), bundle); err != nil {
		return err
	}
	for _, r := range c.records {
		e.Records = append(e.Records, r.Pair().Value)
	}
	return c.log(log)
}

// log adds the entries and headers up to the last block, and declares the results of the entries.
func (c *collector) log(log *audit.Log) error {
	last := uint64(c.last.Block.Height)
	log.Last = last
	log.Entries = slices.DeleteFunc(log.Entries, func(e audit.Entry) bool { return e.Height > last })
	log.Headers = slices.DeleteFunc(log.Headers, func(h audit.Header) bool { return uint64(h.Height) > last })
	if len(log.Headers) == 0 {
		return fmt.Errorf("the header of height %d is signed by nobody that is known", log.First)
	}
	c.evidence.Declared.Results, c.evidence.Declared.Unproven = []Result{}, c.unproven
	for i := range log.Entries {
		e := &log.Entries[i]
		e.Approvals = slices.DeleteFunc(e.Approvals, func(a audit.Approval) bool { return a.Height > last })
		c.evidence.Declared.Results = append(c.evidence.Declared.Results, Result{e.Result, e.ResultHeight, e.Why})
	}
	c.evidence.Log = log
	return nil
}
