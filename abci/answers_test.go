package abci

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// TestAnswersAreMadeOnceAState: the second question costs nothing, another state has other answers,
// and a failure is no answer.
func TestAnswersAreMadeOnceAState(t *testing.T) {
	var a answers
	made := 0
	ask := func(s *app.State, path string) string {
		data, err := a.in(s, path, func() (any, error) { made++; return made, nil })
		require.NoError(t, err)
		return string(data)
	}
	one, two := apptest.State(4), apptest.State(4)
	require.Equal(t, []string{"1", "1", "2", "1", "3", "4"},
		[]string{ask(one, "x"), ask(one, "x"), ask(one, "y"), ask(one, "x"), ask(two, "x"), ask(one, "x")})
	failed := errors.New("failed")
	_, err := a.in(two, "x", func() (any, error) { return nil, failed })
	require.ErrorIs(t, err, failed)
	require.Equal(t, "5", ask(two, "x"))
}

// TestSharedAnswersArePaths: each is one that has an answer, of which the pool and the clock are no
// part.
func TestSharedAnswersArePaths(t *testing.T) {
	for path := range shared {
		require.Contains(t, paths, path)
	}
}
