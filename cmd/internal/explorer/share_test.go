package explorer

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

// TestOneClientTakesAShare: one client opens as many connections as there are and
// says nothing; it gets no more, and is served again once it has let go.
func TestOneClientTakesAShare(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{APIConfig: home.APIConfig{MaxConnections: 80, StreamsPerClient: 4}})
	l, err := Listen("tcp://127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	defer func() { cancel(); require.NoError(t, <-ended) }()

	address := l.Addr().String()
	var idle []net.Conn
	for range 80 {
		c, err := net.DialTimeout("tcp", address, time.Minute)
		require.NoError(t, err)
		idle = append(idle, c)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	ask := func() error {
		r, err := client.Get("http://" + address + "/assets/style.css")
		if err == nil {
			require.Equal(t, http.StatusOK, r.StatusCode)
			err = r.Body.Close()
		}
		return err
	}
	var hungUp net.Error
	require.ErrorAs(t, ask(), &hungUp, "its share is taken")
	require.False(t, hungUp.Timeout(), "it waits in no queue: %v", hungUp)
	for _, c := range idle {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool { return ask() == nil }, time.Minute, 20*time.Millisecond)
}

// callers is a listener whose connections come from the addresses that are sent.
type callers struct {
	net.Listener
	from chan string
}

func (l callers) Accept() (net.Conn, error) {
	c, _ := net.Pipe()
	return caller{c, net.TCPAddr{IP: net.ParseIP(<-l.from), Port: 4000}}, nil
}

type caller struct {
	net.Conn
	at net.TCPAddr
}

func (c caller) RemoteAddr() net.Addr { return &c.at }

// TestShareOfEach: what one client has taken is nothing to another.
func TestShareOfEach(t *testing.T) {
	from := make(chan string, 8)
	l := share(callers{from: from}, Options{APIConfig: home.APIConfig{MaxConnections: 72, StreamsPerClient: 1}})
	var first net.Conn
	take := func(ip string) {
		c, err := l.Accept()
		require.NoError(t, err)
		require.Equal(t, ip, clientOf(c.RemoteAddr().String()))
		if first == nil {
			first = c
		}
	}
	for range 18 { // a quarter of 72, which is more than a stream and 16
		from <- "192.0.2.1"
		take("192.0.2.1")
	}
	from <- "192.0.2.1" // hung up on
	from <- "192.0.2.2"
	take("192.0.2.2")
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "twice gives back one place")
	from <- "192.0.2.1"
	take("192.0.2.1")
	from <- "192.0.2.1"
	from <- "192.0.2.3"
	take("192.0.2.3")
}
