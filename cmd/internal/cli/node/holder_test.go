package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
)

func TestHolder(t *testing.T) {
	a, b, c := home.GenerateKeys(), home.GenerateKeys(), home.GenerateKeys()
	all := []app.Participant{
		{Index: 0, PubKey: a.Public()},
		{Index: 1, PubKey: b.Public(), FormerKeys: []app.FormerKey{{PubKey: c.Public()}}, Active: true},
	}
	p, err := Holder(all, "file", b.Public())
	require.NoError(t, err)
	require.Equal(t, uint32(1), p.Index)
	for says, gone := range map[string]worker.Keys{"has left": a, "former key of participant 1": c,
		"tx join": home.GenerateKeys()} {
		_, err = Holder(all, "file", gone.Public())
		require.ErrorIs(t, err, worker.ErrNotParticipant)
		require.ErrorContains(t, err, says)
	}
}
