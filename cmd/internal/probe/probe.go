// Package probe tests from outside whether a node answers at its address.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
)

// timeout bounds each step of a probe: the look-up of the name, the connection and the handshake.
const timeout = 5 * time.Second

// Node connects to a node's address, id@host:port, and checks the id by the handshake of CometBFT's p2p. The probe uses
// a new key. A node that admits only members still proves its id before it ends the connection.
func Node(ctx context.Context, address string) error {
	id, at, _ := strings.Cut(address, "@")
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return fmt.Errorf("is no address as id@host:port")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return fmt.Errorf("has no address by DNS: %s", plainly(err))
	}
	dialer := net.Dialer{Timeout: timeout}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(hosts[0], port))
	if err != nil {
		return fmt.Errorf("does not answer: %s", plainly(err))
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	secret, err := conn.MakeSecretConnection(c, ed25519.GenPrivKey())
	if closed(err) {
		return fmt.Errorf("closed the connection before the handshake: it may limit unknown addresses, ask again in 10 s")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("takes connections and sends nothing for %v: the node hangs, or it is no node", timeout)
	}
	if err != nil {
		return fmt.Errorf("answers, and is no node: the handshake failed: %s", plainly(err))
	}
	if got := p2p.PubKeyToID(secret.RemotePubKey()); string(got) != id {
		return fmt.Errorf("answers as the node %s, and the entry says %s", got, id)
	}
	return nil
}

// Nodes probes addresses at once. The result is in their order; nil is a node that answers, or an empty address.
func Nodes(ctx context.Context, addresses []string) []error {
	errs := make([]error, len(addresses))
	var wg sync.WaitGroup
	for i, address := range addresses {
		if address != "" {
			wg.Go(func() { errs[i] = Node(ctx, address) })
		}
	}
	wg.Wait()
	return errs
}

// closed reports whether the other side closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// plainly returns the cause of a network error, without the addresses around it.
func plainly(err error) string {
	var dns *net.DNSError
	var refused syscall.Errno
	var limit net.Error
	switch {
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &refused):
		return refused.Error()
	case errors.As(err, &limit) && limit.Timeout():
		return fmt.Sprintf("nothing came within %v (a firewall drops what it does not let in)", timeout)
	}
	return err.Error()
}
