package node

import (
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"
)

// TestProposeTimeout: a missed turn shortens only the timeout of the first proposer of a height,
// and only for that height.
func TestProposeTimeout(t *testing.T) {
	c := config.DefaultConsensusConfig()
	c.TimeoutPropose, c.TimeoutProposeDelta = time.Second, 500*time.Millisecond
	set := newProposeTimeout(c).adapt
	set(true)
	set(true)
	require.Equal(t, 100*time.Millisecond, c.Propose(0))
	require.Equal(t, 1500*time.Millisecond, c.Propose(1))
	require.GreaterOrEqual(t, c.Propose(2), 2*time.Second)
	set(false)
	require.Equal(t, time.Second, c.Propose(0))
	require.Equal(t, 2*time.Second, c.Propose(2))
}
