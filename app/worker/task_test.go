package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/worker"
)

// TestNewTaskOfFormerKey: the error says whether a key was rotated, its participant has left, or no
// participant ever had it.
func TestNewTaskOfFormerKey(t *testing.T) {
	pub := apptest.Identity(0).PubKey
	for _, c := range []struct {
		says   string
		change func(*app.Participant)
	}{
		{"replaced by a rotation that is in force", func(p *app.Participant) {
			p.FormerKeys, p.PubKey = []app.FormerKey{{PubKey: p.PubKey}}, make([]byte, len(pub))
		}},
		{"has left or was removed", func(p *app.Participant) { p.Active = false }},
		{worker.ErrNotParticipant.Error() + ": ", func(p *app.Participant) { p.PubKey = make([]byte, len(pub)) }},
	} {
		s := apptest.State(4)
		c.change(&s.Participants[0])
		_, err := worker.NewTask(s, pub)
		require.ErrorIs(t, err, worker.ErrNotParticipant)
		require.ErrorContains(t, err, c.says)
	}
}
