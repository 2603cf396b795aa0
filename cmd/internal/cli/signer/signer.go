// Package signer has the command that signs blocks for a node elsewhere.
package signer

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	"github.com/cometbft/cometbft/privval"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

const (
	// dialPause is the time between two attempts to connect to the node, and dialTries the max
	// number of attempts after which CometBFT's signer would give up: none in practice.
	dialPause = 200 * time.Millisecond
	dialTries = 1 << 40
	// silence is how long a connection may be silent. The node pings more often.
	silence = 5 * time.Second
)

// Command returns the command, which holds a validator's key in a process of its own.
func Command() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "signer",
		Short: "Hold the validator's key in a process of its own, on this or another host",
		Long: "Sign blocks for a node that does not hold the validator's key. The home of the signer has\n" +
			"config/priv_validator_key.json, data/priv_validator_state.json and config/genesis.json, and the\n" +
			"node's config.toml names the address at which it listens for the signer, priv_validator_laddr.\n" +
			"The signer connects to it again whenever the connection is lost. It signs one proposal and one\n" +
			"vote of each kind for a height and round, also after kill -9, so never run two on one key.",
		Example: "  spdl signer --home ./vault --connect 127.0.0.1:26659 --node-id $(spdl show-node-id --home ./node)\n" +
			"  spdl signer --home ./vault --connect unix:///run/spdl/signer.sock",
		Args: cobra.NoArgs,
	}, o.run)
	command.Flag(cmd, &o.connect, "connect", "", "the node's priv_validator_laddr: host:port or unix:///path").Required()
	command.Flag(cmd, &o.nodeID, "node-id", "", "id of the node that may ask for signatures, for an address host:port")
	command.PassphraseFlag(cmd)
	command.Flag(cmd, &o.level, "log-level", "info", "log level")
	return cmd
}

type options struct{ connect, nodeID, level string }

func (o *options) run(r *command.Run, _ []string) error {
	logger, err := r.LogAt(o.level, "info")
	if err != nil {
		return err
	}
	dial, err := o.dialer()
	if err != nil {
		return command.Usage(err)
	}
	c, _, err := r.LoadHome()
	if err != nil {
		return err
	}
	doc, err := genesis.ReadFile(filepath.Join(r.Home, "config", "genesis.json"))
	if err != nil {
		return err
	}
	held, err := home.LockValidator(c)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	key, err := r.Keystore().LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	if err != nil {
		return err
	}
	server := privval.NewSignerServer(privval.NewSignerDialerEndpoint(logger.With("module", "signer"), dial,
		privval.SignerDialerEndpointConnRetries(dialTries), privval.SignerDialerEndpointRetryWaitInterval(dialPause),
		privval.SignerDialerEndpointTimeoutReadWrite(silence)), doc.ChainID, key)
	if err := server.Start(); err != nil {
		return err
	}
	logger.Info("signing blocks", "validator", key.Key.Address, "chain", doc.ChainID, "node", o.connect)
	<-r.Context.Done()
	return server.Stop()
}

// dialer returns the function that connects to the node. Over TCP it rejects another node than that
// of the id, which could ask for the signatures of heights to come and so silence the validator.
func (o *options) dialer() (privval.SocketDialer, error) {
	if path, ok := strings.CutPrefix(o.connect, "unix://"); ok {
		return privval.DialUnixFn(path), nil
	}
	address := strings.TrimPrefix(o.connect, "tcp://")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("--connect %q: %w: want host:port or unix:///path", o.connect, err)
	}
	if o.nodeID == "" {
		return nil, fmt.Errorf("--connect %s needs --node-id: spdl show-node-id prints it at the node", o.connect)
	}
	connect := privval.DialTCPFn(address, silence, ed25519.GenPrivKey())
	return func() (net.Conn, error) {
		c, err := connect()
		if err != nil {
			return nil, err
		}
		if id := p2p.PubKeyToID(c.(*conn.SecretConnection).RemotePubKey()); string(id) != strings.ToLower(o.nodeID) {
			return nil, errors.Join(fmt.Errorf("node id %s answers at %s, want %s", id, address, o.nodeID), c.Close())
		}
		return c, nil
	}, nil
}
