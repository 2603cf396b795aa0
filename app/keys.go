package app

import (
	"bytes"
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// contendAfter is the number of rounds from the boundary on after which a new
// VRF key first contends for the lead. Whoever knows a seed can try keys
// until one wins over it; the seed so many rounds on is known to nobody who does
// not win all of them.
const contendAfter = 16

// keys are a participant's, or those that an operation registers, which leaves
// the empty ones as they are.
type keys struct{ pub, vrf, consensus []byte }

// keysFree is M2: no key is another's, is or was its own, or is asked for by a
// proposal that waits. A consensus key is free again when its participant has
// left. Empty keys are skipped; those of the participant except are not looked
// at, but for its signing keys.
func (s *State) keysFree(except *Participant, k keys) error {
	taken := func(key []byte, by string, held ...[]byte) error {
		for _, h := range held {
			if len(key) > 0 && bytes.Equal(key, h) {
				return fmt.Errorf("%w: %X is %s", ErrKeyTaken, key, by)
			}
		}
		return nil
	}
	for i := range s.Participants {
		p := &s.Participants[i]
		by := fmt.Sprintf("participant %d's", p.Index)
		signing := [][]byte{p.PubKey}
		for _, k := range p.FormerKeys {
			signing = append(signing, k.PubKey)
		}
		err := firstOf(taken(k.pub, by, signing...), taken(k.vrf, by, p.VrfKey))
		if err == nil && p.Active && (except == nil || except.Index != p.Index) {
			err = taken(k.consensus, by, p.ConsensusKey)
		}
		if err != nil {
			return err
		}
	}
	var err error
	waiting(s, func(p *Proposal, op interface{ keys() keys }) bool {
		by, asked := fmt.Sprintf("in a %s that waits", tx.Kind(p.Kind)), op.keys()
		err = firstOf(taken(k.pub, by, asked.pub), taken(k.vrf, by, asked.vrf))
		if err == nil && p.Accepted { // nobody proves a consensus key: a mere request must not block its owner
			err = taken(k.consensus, by, asked.consensus)
		}
		return err == nil
	})
	return err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
