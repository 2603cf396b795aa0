package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	require.Equal(t, "ünder \ufffd[2J\ufffd\nx", Plain("ünder \x1b[2J\u200b\nx"))
	require.Equal(t, "\ufffd", Plain("\xff"))
}
