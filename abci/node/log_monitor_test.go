package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/app"
)

// TestWhatIsNoErrorFillsNoLog: needless evidence is not logged as an error, nor are connections
// that break while the node stops, peers that are down, and connections that a peer closed. Other
// failures are.
func TestWhatIsNoErrorFillsNoLog(t *testing.T) {
	var out bytes.Buffer
	var heardOf []string
	stopping := make(chan struct{})
	h := logMonitor{log.NewFilter(log.NewTMLogger(&out), log.AllowError()),
		func(message, _ string) { heardOf = append(heardOf, message) }, stopping}
	h.With("module", "evidence").Error("Can't add evidence to pending list", "err",
		fmt.Errorf("can't persist evidence: %w", databases.ErrNeedless), "ev", 1)
	require.Empty(t, out.String())
	h.Error("Can't add evidence to pending list", "err", errors.New("disk full"))
	require.Contains(t, out.String(), "disk full")
	require.Len(t, heardOf, 1)
	for _, err := range []error{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, io.EOF} {
		out.Reset()
		h.Error(saidNotDialed, "err", err)
		require.Empty(t, out.String(), err)
	}
	stranger := (admission.New(config.DefaultConfig(), admission.Policy{}, []app.Participant{{Active: true,
		ConsensusKey: []byte{1}, NodeIds: []string{"aa"}}}, func() *app.State { return nil })).Admit("bb")
	require.Error(t, stranger)
	for _, err := range []error{stranger, fmt.Errorf("error querying abci app: %v", stranger)} {
		h.Error(saidNotDialed, "err", err)
		h.Error(saidPeerStopped, "peer", "a", "err", err)
		require.Empty(t, out.String(), err)
	}
	h.Error(saidPeerStopped, "peer", "a", "err", io.EOF)
	require.Empty(t, out.String())
	require.Len(t, heardOf, 1)
	h.Error(saidPeerStopped, "peer", "a", "err", errors.New("a message that cannot be decoded"))
	require.Contains(t, out.String(), "cannot be decoded")
	out.Reset()
	h.Error(saidNotDialed, "err", errors.New("incompatible network"))
	require.Contains(t, out.String(), "incompatible network")
	close(stopping)
	out.Reset()
	h.Error("Stopping peer for error", "err", errors.New("EOF"))
	require.Empty(t, out.String(), "it is to stop")
	h.Error(saidHalted, "err", errors.New("a fault"))
	require.Contains(t, out.String(), "a fault")
}
