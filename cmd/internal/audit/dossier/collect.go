package dossier

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
	c := &collector{Evidence: &Evidence{Version: Version}}
	if earlier != nil {
		if err := c.follow(earlier, &o); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", audit.ErrHandover, err)
		}
	}
	o.Executed = c.block
	log, report, err := audit.RunLog(ctx, src, o)
	switch {
	case err != nil:
		return nil, report, err
	case c.last.Block != nil:
	case report.Divergence != nil:
		return nil, report, report.Divergence
	case report.OtherVersion != nil:
		return nil, report, fmt.Errorf("%w: let the release of that version write the dossier of these heights, and "+
			"continue it with --after", report.OtherVersion)
	case earlier != nil:
		return nil, report, fmt.Errorf("%w: no block after height %d is known to be signed", audit.ErrHandover, report.Last)
	}
	c.Log = log
	if err := c.finish(); err != nil {
		return nil, report, err
	}
	if last := c.last.Block.Height; report.Handover != nil && report.Handover.Height == uint64(last) {
		c.Handover = report.Handover
	}
	return c.Evidence, report, nil
}

// follow begins with earlier evidence, and with the end of the replay that collected it.
func (c *collector) follow(earlier *Evidence, o *audit.Options) error {
	h := earlier.Handover
	if h == nil {
		return errors.New("the dossier does not end at an upgrade, so it has nothing to continue from")
	}
	chain, err := earlier.Chain()
	if err != nil {
		return err
	}
	if last := chain.Last(); uint64(last.Height) != h.Height {
		return fmt.Errorf("its headers end at height %d, its replay at %d", last.Height, h.Height)
	}
	c.Headers, c.Members = earlier.Headers, earlier.Members
	c.Declared.Program = earlier.Declared.Program
	c.addMembers(Members{h.Height, earlier.Bundle.Participants})
	records := earlier.Records
	if len(h.Record) > 0 {
		records = append(records, h.Record)
	}
	for i, raw := range records {
		r, err := app.DecodeRecord(raw)
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		c.records = append(c.records, &r)
	}
	o.From, o.Log = h, earlier.Log
	o.From.Block = chain.Last().Hash()
	return nil
}

// A collector gathers evidence from executed blocks.
type collector struct {
	*Evidence
	records []*app.Record
	last    audit.Executed // the last block with a commit
}

func (c *collector) block(b audit.Executed) error {
	if b.Record != nil {
		c.records = append(c.records, b.Record)
	}
	if b.Commit == nil {
		return nil
	}
	header, err := b.Block.Header.ToProto().Marshal()
	c.Headers = append(c.Headers, header)
	before := c.last
	if c.last = b; before.Block == nil {
		return errors.Join(err, c.members(b))
	}
	if !sameMembers(before.Before.Participants, b.Before.Participants) {
		err = errors.Join(err, c.members(before), c.members(b))
	}
	return err
}

// members adds the participants of the state that the header of a block proves.
func (c *collector) members(b audit.Executed) error {
	proven, err := proof.State(b.Before, "participants")
	c.addMembers(Members{uint64(b.Block.Height), proven})
	return err
}

// addMembers adds the participants of a height once.
func (c *collector) addMembers(m Members) {
	if n := len(c.Members); n == 0 || c.Members[n-1].Height < m.Height {
		c.Members = append(c.Members, m)
	}
}

// finish adds the proofs of the last state, which lacks the rounds that the last block or later ones
// closed, and ends the log there.
func (c *collector) finish() error {
	if c.last.Block == nil {
		return ErrNoRound
	}
	e, s, height := c.Evidence, c.last.Before, uint64(c.last.Block.Height)
	for len(c.records) > 0 && c.records[len(c.records)-1].Height >= height {
		r := c.records[len(c.records)-1]
		c.records = c.records[:len(c.records)-1]
		e.Declared.Unproven = append(e.Declared.Unproven, fmt.Sprintf("block %d closed round %d of epoch %d, which no "+
			"header proves yet; let the chain make one more block", r.Height, r.Round, r.Epoch))
	}
	slices.Reverse(e.Declared.Unproven)
	if len(c.records) == 0 {
		return ErrNoRound
	}
	var bundle proof.Bundle
	var history proof.History
	err := history.Grow(uint64(len(c.records)), func(_ *app.Record, each func(*app.Record) bool) error {
		for _, r := range c.records {
			e.Records = append(e.Records, r.Pair().Value)
			if !each(r) {
				break
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if bundle.Round, err = history.Round(s, c.records[len(c.records)-1]); err != nil {
		return err
	}
	for key, to := range map[string]*proof.Proven{"progress": &bundle.Progress, "params": &bundle.Params,
		"epochs": &bundle.Epochs, "participants": &bundle.Participants, "closed": &e.Closed, "history": &e.History,
		"offences": &e.Offences, "proposals": &e.Proposals} {
		if *to, err = proof.State(s, key); err != nil {
			return err
		}
	}
	e.Bundle.Bundle = bundle
	if e.Bundle.Header, err = modelfile.EncodeHeader(c.last.Light()); err == nil {
		e.cutLog(height)
	}
	return err
}

// cutLog removes the entries and headers above a height from the log, and lets it end with the bundle's header.
func (e *Evidence) cutLog(height uint64) {
	log := e.Log
	log.Last = height
	log.Entries = slices.DeleteFunc(log.Entries, func(x audit.Entry) bool { return x.Height > height })
	log.Headers = slices.DeleteFunc(log.Headers, func(h audit.Header) bool { return uint64(h.Height) >= height })
	log.Headers = append(log.Headers, audit.Header{Height: int64(height), Light: e.Bundle.Header})
	for i := range log.Entries {
		x := &log.Entries[i]
		x.Approvals = slices.DeleteFunc(x.Approvals, func(a audit.Approval) bool { return a.Height > height })
	}
}
