package consortium

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"

	"github.com/spdl/spdl/cmd/internal/founding"
)

// probeTimeout bounds each of a probe's steps: the name, the connection and the handshake.
const probeTimeout = 5 * time.Second

// probe connects to a node's address, id@host:port, and checks the id by the handshake of CometBFT's
// p2p. The key of this side is a new one: a node that lets in members alone proves its id first, and
// then ends the connection.
func probe(ctx context.Context, address string) error {
	id, at, _ := strings.Cut(address, "@")
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return fmt.Errorf("is no address as id@host:port")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return fmt.Errorf("has no address by DNS: %s", plainly(err))
	}
	dialer := net.Dialer{Timeout: probeTimeout}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(hosts[0], port))
	if err != nil {
		return fmt.Errorf("does not answer: %s", plainly(err))
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return err
	}
	secret, err := conn.MakeSecretConnection(c, ed25519.GenPrivKey())
	if err != nil {
		return fmt.Errorf("answers, and is no node: the handshake failed: %s", plainly(err))
	}
	if got := p2p.PubKeyToID(secret.RemotePubKey()); string(got) != id {
		return fmt.Errorf("answers as the node %s, and the entry says %s", got, id)
	}
	return nil
}

// plainly returns the cause of a network error, without the addresses around it.
func plainly(err error) string {
	var dns *net.DNSError
	var refused syscall.Errno
	switch {
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || timedOut(err):
		return fmt.Sprintf("nothing came within %v (a firewall drops what it does not let in)", probeTimeout)
	}
	return err.Error()
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// probeAll probes the addresses of all entries at once. The result is in the order of the members;
// nil is a node that answers, or an entry without an address.
func probeAll(ctx context.Context, f *founding.Founding) []error {
	errs := make([]error, len(f.Entries))
	var wg sync.WaitGroup
	for i, e := range f.Entries {
		if e != nil && e.Address != "" {
			wg.Go(func() { errs[i] = probe(ctx, e.Address) })
		}
	}
	wg.Wait()
	return errs
}
