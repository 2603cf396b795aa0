package network

import (
	"bytes"
	"context"
	"testing"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"
)

func TestReportNoPeers(t *testing.T) {
	said := func(peers int) string {
		var b bytes.Buffer
		reportNoPeers(context.Background(), func() int { return peers }, 0, log.NewTMLogger(&b))
		return b.String()
	}
	require.Contains(t, said(0), "no peers yet")
	require.Empty(t, said(1))
}
