package app

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// contendAfter is the number of rounds between the registration of a VRF key and the first round in
// which the key contends for the lead. If a participant knew the seed of that first round when it
// registered the key, it could try keys until one wins. To know the seed contendAfter rounds ahead,
// the participant would need the largest VRF output in each of these rounds.
const contendAfter = 16

// keys holds the keys that an operation registers. A key is empty if the operation does not register it.
type keys struct{ pub, vrf, consensus []byte }

// checkKeysFree returns ErrKeyTaken if one of the keys is taken (M2). An empty key is never taken.
//
//   - A signing key is taken if it is or was the signing key of any participant, or if a waiting
//     proposal registers it.
//   - A VRF key is taken if it is the VRF key of any participant, or if a waiting proposal
//     registers it.
//   - A consensus key is taken if an active participant other than owner has it, or if an accepted
//     proposal registers it.
func (s *State) checkKeysFree(owner *Participant, k keys) error {
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
		err := cmp.Or(taken(k.pub, by, signing...), taken(k.vrf, by, p.VrfKey))
		if err == nil && p.Active && (owner == nil || owner.Index != p.Index) {
			err = taken(k.consensus, by, p.ConsensusKey)
		}
		if err != nil {
			return err
		}
	}
	var err error
	forEachProposal(s, func(p *Proposal, op interface{ keys() keys }) bool {
		by, asked := fmt.Sprintf("in a %s that waits", tx.Kind(p.Kind)), op.keys()
		err = cmp.Or(taken(k.pub, by, asked.pub), taken(k.vrf, by, asked.vrf))
		if err == nil && p.Accepted { // only an accepted proposal reserves its consensus key
			err = taken(k.consensus, by, asked.consensus)
		}
		return err == nil
	})
	return err
}
