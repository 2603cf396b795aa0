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

// ErrNoRound means that a chain has closed no round that a header proves.
var ErrNoRound = errors.New("the chain has closed no round yet, so there is nothing to report")

// Collect replays the chain of a source and returns the evidence of its training, up to the last
// block that is known to be signed. The evidence ends where the replay does, and declares nothing.
func Collect(ctx context.Context, src audit.Source, o audit.Options) (*Evidence, *audit.Report, error) {
	c := &collector{evidence: &Evidence{Version: Version}}
	o.Executed = c.block
	log, report, err := audit.RunLog(ctx, src, o)
	if err = errors.Join(err, c.err); err != nil {
		return nil, report, err
	}
	if err := c.finish(log); err != nil {
		return nil, report, err
	}
	return c.evidence, report, nil
}

// A collector gathers evidence from executed blocks.
type collector struct {
	evidence *Evidence
	records  []*app.Record
	last     audit.Executed // the last block with a commit
	err      error          // the first
}

func (c *collector) block(b audit.Executed) {
	if c.err != nil || b.Commit == nil {
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

// members adds the participants of a state, which the header of a height proves, once.
func (c *collector) members(height uint64, s *app.State) {
	all := c.evidence.Members
	if len(all) > 0 && all[len(all)-1].Height == height {
		return
	}
	proven, err := proof.State(s, "participants")
	c.err = errors.Join(c.err, err)
	c.evidence.Members = append(all, Members{height, proven})
}

// finish proves the last state, and adds the log.
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

// log adds the entries and headers up to the last block, and declares the entries' results.
func (c *collector) log(log *audit.Log) error {
	last := uint64(c.last.Block.Height)
	log.Last = last
	log.Entries = slices.DeleteFunc(log.Entries, func(e audit.Entry) bool { return e.Height > last })
	log.Headers = slices.DeleteFunc(log.Headers, func(h audit.Header) bool { return uint64(h.Height) > last })
	if len(log.Headers) == 0 {
		return fmt.Errorf("the header of height %d is signed by nobody that is known", log.First)
	}
	c.evidence.Declared.Results = []Result{}
	for i := range log.Entries {
		e := &log.Entries[i]
		e.Approvals = slices.DeleteFunc(e.Approvals, func(a audit.Approval) bool { return a.Height > last })
		c.evidence.Declared.Results = append(c.evidence.Declared.Results, Result{e.Result, e.ResultHeight, e.Why})
	}
	c.evidence.Log = log
	return nil
}
