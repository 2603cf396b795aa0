package audit

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/cometbft/cometbft/evidence"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"
)

// checkHeader compares the fields of a header that follow from the chain before it. It makes the checks of CometBFT's
// validateBlock, except those that the application hash and the commits include. It returns "" for a sound header.
func (r *replay) checkHeader(b *types.Block) string {
	differs := func(name string, stated, replayed []byte) string {
		if bytes.Equal(stated, replayed) {
			return ""
		}
		return fmt.Sprintf("%s is %X, replayed %X", name, stated, replayed)
	}
	for _, reason := range []string{
		differs("validators hash", b.ValidatorsHash, r.validators.Hash()),
		differs("next validators hash", b.NextValidatorsHash, r.next.Hash()),
		differs("consensus hash", b.ConsensusHash, r.params.Hash()),
		differs("last results hash", b.LastResultsHash, r.results),
	} {
		if reason != "" {
			return reason
		}
	}
	if reason := r.checkVersion(b); reason != "" {
		return reason
	}
	if !r.validators.HasAddress(b.ProposerAddress) { // the proposer's index depends on the round, which no header states
		return fmt.Sprintf("proposer %X is no validator", b.ProposerAddress)
	}
	return r.checkTime(b)
}

// version returns the version of the state machine at a height up to that of the next block.
func (r *replay) version(height uint64) uint64 {
	return r.state.VersionAt(height, r.doc.ConsensusParams.Version.App)
}

// checkVersion compares the version that a header states with that of its height (B7).
func (r *replay) checkVersion(b *types.Block) string {
	if want := r.version(uint64(b.Height)); b.Version.App != want {
		return fmt.Sprintf("version.app is %d, replayed %d", b.Version.App, want)
	}
	return ""
}

// checkTime compares a block's time with the time that the replay computes: for the first block the genesis time, then
// the median of the times in the last commit, weighted by power. Block times increase strictly.
func (r *replay) checkTime(b *types.Block) string {
	want := r.doc.GenesisTime
	if b.Height > r.doc.InitialHeight {
		if !b.Time.After(r.ended) {
			return fmt.Sprintf("time %v is not after the last block's, %v", b.Time, r.ended)
		}
		var err error
		if want, err = sm.MedianTime(b.LastCommit, r.previous); err != nil {
			return fmt.Sprintf("time of the last commit: %v", err)
		}
	}
	if !b.Time.Equal(want) {
		return fmt.Sprintf("time is %v, replayed %v", b.Time, want)
	}
	return ""
}

// A signedBlock is the block of a height, against which evidence about that height is verified.
type signedBlock struct {
	header     *types.Header
	round      int32 // of its commit
	validators *types.ValidatorSet
}

func (s signedBlock) signed() *types.SignedHeader {
	return &types.SignedHeader{Header: s.header, Commit: &types.Commit{Height: s.header.Height, Round: s.round}}
}

// past holds the blocks that are not too old for evidence, and the committed evidence about them.
type past struct {
	blocks    []signedBlock    // one a height
	committed map[string]int64 // from the hash of evidence to the height that it is about
}

// at returns the block of a height, or nil if it is too old or not executed yet.
func (p *past) at(height int64) *signedBlock {
	if len(p.blocks) == 0 {
		return nil
	}
	i := height - p.blocks[0].header.Height
	if i < 0 || i >= int64(len(p.blocks)) {
		return nil
	}
	return &p.blocks[i]
}

// add adds a block and drops the blocks that are now too old for evidence.
func (p *past) add(b *types.Block, validators *types.ValidatorSet, limits types.EvidenceParams) {
	if n := len(p.blocks); n > 0 {
		p.blocks[n-1].round = b.LastCommit.Round
	}
	p.blocks = append(p.blocks, signedBlock{header: &b.Header, validators: validators})
	for _, e := range b.Evidence.Evidence {
		p.committed[string(e.Hash())] = e.Height()
	}
	old := 0
	for old < len(p.blocks)-1 {
		h := p.blocks[old].header
		if !evidence.IsEvidenceExpired(b.Height, b.Time, h.Height, h.Time, limits) {
			break
		}
		old++
	}
	if old == 0 {
		return
	}
	p.blocks = p.blocks[old:]
	for hash, height := range p.committed {
		if height < p.blocks[0].header.Height {
			delete(p.committed, hash)
		}
	}
}

// checkEvidence verifies a block's evidence of misbehaviour as CometBFT's evidence pool does, with the replayed
// validators and headers. An audit does so because it does not trust the signers of the block.
func (r *replay) checkEvidence(b *types.Block) error {
	if size, limit := b.Evidence.ByteSize(), r.params.Evidence.MaxBytes; size > limit {
		return types.NewErrEvidenceOverflow(limit, size)
	}
	seen := map[string]bool{}
	for i, e := range b.Evidence.Evidence {
		hash := string(e.Hash())
		if _, before := r.past.committed[hash]; before || seen[hash] {
			return fmt.Errorf("evidence %d is on the chain already", i)
		}
		seen[hash] = true
		if err := r.verify(e); err != nil {
			return fmt.Errorf("evidence %d: %w", i, err)
		}
	}
	return nil
}

// verify verifies one piece of evidence.
func (r *replay) verify(e types.Evidence) error {
	if err := e.ValidateBasic(); err != nil {
		return err
	}
	of := r.past.at(e.Height())
	switch {
	case of == nil:
		return fmt.Errorf("it is about height %d, which is too old or to come", e.Height())
	case of.validators == nil:
		return fmt.Errorf("it is about height %d, whose validators the earlier release's replay did not hand over",
			e.Height())
	case !e.Time().Equal(of.header.Time):
		return fmt.Errorf("its time is %v, that of height %d is %v", e.Time(), e.Height(), of.header.Time)
	}
	switch e := e.(type) {
	case *types.DuplicateVoteEvidence:
		return evidence.VerifyDuplicateVote(e, r.doc.ChainID, of.validators)
	case *types.LightClientAttackEvidence:
		return r.verifyAttack(e, of)
	}
	return fmt.Errorf("it is a %T", e)
}

// verifyAttack verifies evidence of an attack on light clients. If the chain has not reached the
// height of the conflicting header, the last header is the trusted one, as in CometBFT.
func (r *replay) verifyAttack(e *types.LightClientAttackEvidence, common *signedBlock) error {
	trusted := common
	if height := e.ConflictingBlock.Height; height != e.Height() {
		if trusted = r.past.at(height); trusted == nil {
			trusted = &r.past.blocks[len(r.past.blocks)-1]
			if trusted.header.Time.Before(e.ConflictingBlock.Time) {
				return errors.New("its conflicting block is later than the last one")
			}
		}
	}
	return evidence.VerifyLightClientAttack(e, common.signed(), trusted.signed(), common.validators, time.Time{}, 0)
}
