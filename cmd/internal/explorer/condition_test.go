package explorer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
)

// TestNoQuorum: while no block comes the home page says which validators do not vote, readers are told when that begins
// and ends, and a page with blocks says nothing of it.
func TestNoQuorum(t *testing.T) { synctest.Test(t, noQuorum) }

func noQuorum(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{})
	require.NotContains(t, get(s, "/").Body.String(), "No block comes")
	feed, end := s.chain.Subscribe()
	defer end()
	told := func() (n int) {
		require.NoError(t, s.chain.Look(t.Context()))
		for len(feed) > 0 {
			<-feed
			n++
		}
		return n
	}
	told()
	require.Zero(t, told(), "nothing is new")
	time.Sleep(2 * client.Overdue)
	require.Equal(t, 1, told())
	page := get(s, "/").Body.String()
	require.Contains(t, page, "No block comes")
	require.Contains(t, page, "No quorum: 2 of 4 validators vote, not 2 &#34;x&#34;, 3 &#34;x&#34;")
	f.set(func() { f.rounds++ })
	require.Equal(t, 1, told())
	require.NotContains(t, get(s, "/").Body.String(), "No block comes")
}

// TestBeforeTheFirstBlock: the home page says what the chain waits for, and loads itself until there is a block, as do
// pages in place of those that a lost node would answer.
func TestBeforeTheFirstBlock(t *testing.T) {
	const reload = `<meta http-equiv="refresh" content="5">`
	f := newFake(0, "x")
	f.before = true
	s := over(t, f, Options{})
	page := get(s, "/").Body.String()
	require.Contains(t, page, `<p class="note"><bdi>The chain has not begun: this node waits for block 1. `+
		`Peers connected: 2; 2 of 4 validators vote, not 2 &#34;x&#34;, 3 &#34;x&#34;.</bdi>`)
	require.Contains(t, page, reload)
	require.NotContains(t, page, "No block comes")
	require.NotContains(t, get(s, "/params").Body.String(), reload)
	require.NotContains(t, get(s, "/nothing").Body.String(), reload)
	f.set(func() { f.before = false })
	s.chain.See(t.Context())
	page = get(s, "/").Body.String()
	require.NotContains(t, page, reload)
	require.NotContains(t, page, "has not begun")
	f.set(func() { f.down = true })
	s.chain.See(t.Context())
	require.Contains(t, get(s, "/evidence").Body.String(), reload)
}
