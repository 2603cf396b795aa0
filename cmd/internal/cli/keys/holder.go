package keys

import (
	"bytes"
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
)

// Holder returns the active participant with a public key. file is where the key is, for errors: a
// key file or a signer. Without such a participant it fails with worker.ErrNotParticipant, and says
// whether the key once belonged to one.
func Holder(all []app.Participant, file string, pub []byte) (app.Participant, error) {
	for _, p := range all {
		if bytes.Equal(p.PubKey, pub) && p.Active {
			return p, nil
		}
	}
	for _, p := range all {
		if bytes.Equal(p.PubKey, pub) {
			return p, fmt.Errorf("%w: %X of %s is that of participant %d, which has left", worker.ErrNotParticipant, pub, file,
				p.Index)
		}
		for _, former := range p.FormerKeys {
			if bytes.Equal(former.PubKey, pub) {
				return p, fmt.Errorf("%w: %X of %s is a former key of participant %d, rotated since", worker.ErrNotParticipant, pub,
					file, p.Index)
			}
		}
	}
	return app.Participant{}, fmt.Errorf("%w: %X of %s (spdl tx join asks for membership)", worker.ErrNotParticipant, pub,
		file)
}
