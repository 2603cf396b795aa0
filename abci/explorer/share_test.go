package explorer

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOneClientTakesAShare: one client opens as many connections as there are and
// says nothing; another is served nevertheless, and the first again once it has
// let go.
func TestOneClientTakesAShare(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{MaxConnections: 80, StreamsPerClient: 4})
	l, err := Listen("tcp://127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	defer func() { cancel(); require.NoError(t, <-ended) }()

	address := l.Addr().String()
	from := func(ip string) *net.Dialer {
		return &net.Dialer{Timeout: time.Minute, LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	}
	var idle []net.Conn
	for range 80 {
		c, err := from("127.0.0.2").Dial("tcp", address)
		if err != nil {
			t.Skip("this machine has no second loopback address: ", err)
		}
		idle = append(idle, c)
	}
	ask := func(ip string) error {
		transport := &http.Transport{DialContext: from(ip).DialContext, DisableKeepAlives: true}
		c := &http.Client{Transport: transport, Timeout: time.Minute}
		r, err := c.Get("http://" + address + "/assets/style.css")
		if err == nil {
			require.Equal(t, http.StatusOK, r.StatusCode)
			err = r.Body.Close()
		}
		return err
	}
	require.NoError(t, ask("127.0.0.3"), "another")
	require.Error(t, ask("127.0.0.2"), "its share is taken")
	for _, c := range idle {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool { return ask("127.0.0.2") == nil }, time.Minute, 20*time.Millisecond)
}
