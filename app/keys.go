package app

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// contendAfter is the number of rounds after its boundary in which a new VRF key does not contend
// for the lead. A participant that knows a seed can try keys until one of them wins. Nobody knows
// the seed this many rounds ahead without winning all of them.
const contendAfter = 16

// keys holds the keys of a participant, or those that an operation registers. An empty key stays as
// it is.
type keys struct{ pub, vrf, consensus []byte }

// keysFree applies M2: no key is another participant's, and no signing or VRF key is or was the
// participant's own. No signing or VRF key is asked for by a proposal that waits, and no consensus
// key by an accepted one. A consensus key is free again when its participant has left. Empty keys
// are free. The participant except may name its own consensus key.
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
		err := cmp.Or(taken(k.pub, by, signing...), taken(k.vrf, by, p.VrfKey))
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
		err = cmp.Or(taken(k.pub, by, asked.pub), taken(k.vrf, by, asked.vrf))
		if err == nil && p.Accepted { // the owner of a consensus key may ask again, with other keys beside it
			err = taken(k.consensus, by, asked.consensus)
		}
		return err == nil
	})
	return err
}
