package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	cmtnet "github.com/cometbft/cometbft/libs/net"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"

	"github.com/spdl/spdl/abci/home"
)

const (
	// signerPatience is the time for which a starting node waits for the remote signer.
	signerPatience = 30 * time.Second
	// signerPause is the max time that a signature waits for the connection of the remote signer. It is short, because
	// consensus waits for the signature. Without a signature the node continues as an observer.
	signerPause = 200 * time.Millisecond
)

var errNoSigner = errors.New("no signer of the validator's key is connected")

// remoteValidator is a validator whose key is in another process: spdl signer, or another signer of
// CometBFT's protocol. That process connects to priv_validator_laddr in config.toml. It signs no
// two different messages for the same height, round and step.
type remoteValidator struct {
	*privval.SignerClient
	endpoint *privval.SignerListenerEndpoint
	key      crypto.PubKey
}

// awaitSigner listens for the remote signer, and returns the validator when the signer has
// connected. It fails with errNoSigner after signerPatience, or with the error of ctx when ctx
// ends. Over TCP the node proves its node key, so that a signer can serve only this node.
func awaitSigner(ctx context.Context, at string, users []uint32, chainID string, key *p2p.NodeKey,
	logger log.Logger) (*remoteValidator, error) {
	endpoint, err := listenForSigner(at, users, key, logger)
	if err != nil {
		return nil, fmt.Errorf("config.toml: priv_validator_laddr: %w", err)
	}
	client, err := privval.NewSignerClient(endpoint, chainID)
	if err != nil {
		return nil, err
	}
	start := signerCommand(at, key.ID())
	logger.With("module", "app").Info("waiting for the signer of the validator's key", "priv_validator_laddr", at,
		"seconds", signerPatience.Seconds(), "start_it", start)
	for deadline := time.Now().Add(signerPatience); ; {
		var key crypto.PubKey
		if err = client.WaitForConnection(time.Second); err == nil {
			if key, err = client.GetPubKey(); err == nil {
				return &remoteValidator{client, endpoint, key}, nil
			}
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), endpoint.Stop())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("%w to %s after %v: start it (%s), and see that it reaches this "+
				"address and knows this node's id: %w", errNoSigner, at, signerPatience, start, err), endpoint.Stop())
		}
	}
}

// signerCommand returns the command that starts the remote signer of the node with the given id,
// which listens at an address.
func signerCommand(at string, id p2p.ID) string {
	protocol, address := cmtnet.ProtocolAndAddress(at)
	if protocol != "tcp" {
		return "spdl signer --home SIGNER --connect " + at
	}
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		address = net.JoinHostPort("HOST", port) // the node does not know by which name the signer reaches it
	}
	return fmt.Sprintf("spdl signer --home SIGNER --connect %s --node-id %s", address, id)
}

// isAway reports whether no remote signer is connected. A nil v counts as not connected.
func (v *remoteValidator) isAway() bool { return v == nil || !v.endpoint.IsConnected() }

// Close closes the connection and the listener.
func (v *remoteValidator) Close() error { return v.endpoint.Stop() }

// listenForSigner listens for the remote signer. A Unix socket takes connections of this user and of the listed users.
func listenForSigner(at string, users []uint32, key *p2p.NodeKey, logger log.Logger) (*privval.SignerListenerEndpoint,
	error) {
	protocol, _ := cmtnet.ProtocolAndAddress(at)
	if protocol != "tcp" && protocol != "unix" {
		return privval.NewSignerListenerFromAddr(at, key.PrivKey, logger)
	}
	l, err := home.Listen(at, users, logger.With("module", "app").Info)
	if err != nil {
		return nil, err
	}
	if protocol == "tcp" {
		l = privval.NewTCPListener(l, key.PrivKey.(ed25519.PrivKey))
	}
	return privval.NewSignerListenerEndpoint(logger, l), nil
}

// GetPubKey implements types.PrivValidator. It does not ask the signer, because CometBFT calls
// GetPubKey at each height.
func (v *remoteValidator) GetPubKey() (crypto.PubKey, error) { return v.key, nil }

// SignVote implements types.PrivValidator.
func (v *remoteValidator) SignVote(chainID string, vote *cmtproto.Vote) error {
	return v.retry(func() error { return v.SignerClient.SignVote(chainID, vote) })
}

// SignProposal implements types.PrivValidator.
func (v *remoteValidator) SignProposal(chainID string, proposal *cmtproto.Proposal) error {
	return v.retry(func() error { return v.SignerClient.SignProposal(chainID, proposal) })
}

// retry sends a request to the signer, and once more if the connection was lost. The second request
// is safe, because the signer answers the same request with the same signature.
func (v *remoteValidator) retry(question func() error) (err error) {
	for range 2 {
		if v.WaitForConnection(signerPause) != nil {
			return errors.Join(errNoSigner, err)
		}
		var rejected *privval.RemoteSignerError
		if err = question(); err == nil || errors.As(err, &rejected) {
			return err
		}
	}
	return err
}
