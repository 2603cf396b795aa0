package node

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	"github.com/cometbft/cometbft/privval"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/signer"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

const (
	// dialPause is the time between two attempts to connect to the node. dialTries is the max
	// number of attempts; it is large, because CometBFT's signer gives up after it.
	dialPause = 200 * time.Millisecond
	dialTries = 1 << 40
	// silence is the max time without data on a connection. The node pings more often.
	silence = 5 * time.Second
)

// Signer returns the command, which holds a validator's or a participant's keys in a process of its own.
func Signer() *cobra.Command {
	o := &signerOptions{}
	cmd := command.Service(command.New(&cobra.Command{
		Use:   "signer",
		Short: "Hold a participant's or validator's keys apart from the node",
		Long: "Sign for a node that does not hold the keys. spdl signer init makes the home of a signer from that of a\n" +
			"node; the section [signer] of its app.toml configures it, and flags override that section.\n\n" +
			"With signer.listen it holds the participant's keys and the journal: it signs one gradient for a round, " +
			"its\n" +
			"commitment, one aggregate for a view, and of operations what signer.allow names. The node's worker.signer\n" +
			"names its address. While it is away, the participant is absent from rounds.\n\n" +
			"With signer.connect it holds the validator's key, config/priv_validator_key.json, and its last signature,\n" +
			"data/priv_validator_state.json: it connects to the node's priv_validator_laddr, again whenever the " +
			"connection is\n" +
			"lost, and signs one proposal and one vote of each kind for a height and round. A state without a signature is\n" +
			"rejected, because the node that had the key before may have signed: move its state beside the key.\n\n" +
			"Both hold after kill -9. Never run two signers on copies of one home.",
		Example: "  spdl signer --home ./vault\n" +
			"  spdl signer --home ./vault --listen unix:///run/spdl/signer.sock\n" +
			"  spdl signer --home ./vault --connect 127.0.0.1:26659 --node-id $(spdl show-node-id --home ./node)",
	}, o.run))
	command.Flag(cmd, &o.listen, "listen", "", "address for the node's worker, for the participant's keys: "+
		"unix:///path or tcp://host:port (default: signer.listen of app.toml)")
	command.Flag(cmd, &o.connect, "connect", "", "the node's priv_validator_laddr, for the validator's key: host:port or "+
		"unix:///path (default: signer.connect of app.toml)")
	command.Flag(cmd, &o.nodeID, "node-id", "", "id of the node that may ask for blocks, for an address host:port "+
		"(default: signer.node_id of app.toml)")
	command.Flag(cmd, &o.neverSigned, "never-signed", false, "this validator has never signed: sign with a state of "+
		"height 0")
	command.PassphraseFlag(cmd)
	o.logs.Declare(cmd, "info")
	cmd.AddCommand(initCommand())
	return cmd
}

type signerOptions struct {
	listen, connect, nodeID string
	neverSigned             bool
	logs                    command.LogFlags
}

func (o *signerOptions) run(r *command.Run, _ []string) error {
	c, a, logger, err := o.logs.Begin(r, "info")
	if err != nil {
		return err
	}
	a.Signer.Listen = cmp.Or(o.listen, a.Signer.Listen)
	o.connect, o.nodeID = cmp.Or(o.connect, a.Signer.Connect), cmp.Or(o.nodeID, a.Signer.NodeID)
	if o.connect == "" && a.Signer.Listen == "" {
		return command.Usage(errors.New("signer.listen and signer.connect of app.toml are empty: name an address by " +
			"--listen or --connect"))
	}
	if err := a.Validate(); err != nil {
		return command.Usage(err)
	}
	doc, err := genesis.ReadFile(c.GenesisFile())
	if err != nil {
		return err
	}
	if err := signer.Contain(); err != nil {
		return err
	}
	defer r.LogStop(logger, "the signer")()
	if o.connect != "" {
		stop, err := o.signBlocks(r, c, doc.ChainID, logger)
		if err != nil {
			return err
		}
		defer stop()
	}
	if a.Signer.Listen != "" {
		return signForParticipant(r, c, a, doc.ChainID, logger)
	}
	<-r.Context.Done()
	return nil
}

// signForParticipant signs for the participant until the run ends.
func signForParticipant(r *command.Run, c *config.Config, a home.AppConfig, chainID string, logger log.Logger) error {
	if home.IsWorkerGroup(c, a) {
		return errors.New("worker.key_file is a folder: a signer holds the keys of one participant")
	}
	file, journal := home.InHome(c, a.Worker.KeyFile), home.InHome(c, a.Worker.Journal)
	home.WarnReadable(logger, file)
	keys, err := r.Keystore().LoadKeys(file)
	if err != nil {
		return err
	}
	local := worker.NewLocal(keys, func() (worker.Keys, error) { return r.Keystore().LoadKeys(file) }, journal)
	known, err := home.ReadJournal(c, a)
	if err != nil {
		return err
	}
	if known.ID != nil { // otherwise the node's first request opens it
		if _, err := local.Open(r.Context, chainID, known.ID); err != nil {
			return err
		}
	}
	defer func() { _ = local.Close() }()
	users, err := a.Signer.UserIDs()
	if err != nil {
		return err
	}
	l, err := signer.Listen(a.Signer.Listen, home.InHome(c, a.Signer.Certificates), users, logger.Warn)
	if err != nil {
		return fmt.Errorf("signer.listen: %w", err)
	}
	logger.Info("signing for the participant", "participant", fmt.Sprintf("%X", []byte(keys.Public())), "chain", chainID,
		"address", a.Signer.Listen, "signed", known.Signed, "allow", a.Signer.Allow)
	policy := signer.Policy{ChainID: chainID, Allow: a.Signer.Allow, Rate: a.Signer.Rate}
	return signer.NewServer(local, policy, logger.Info).Serve(r.Context, l)
}

// signBlocks signs for the validator until stop is called.
func (o *signerOptions) signBlocks(r *command.Run, c *config.Config, chainID string, logger log.Logger) (stop func(),
	err error) {
	connect, err := o.dialer()
	if err != nil {
		return nil, command.Usage(err)
	}
	held, err := home.LockValidator(c)
	if err != nil {
		return nil, err
	}
	key, err := r.Keystore().LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	if key.LastSignState.Height == 0 && !o.neverSigned {
		return nil, errors.Join(fmt.Errorf("%s has height 0, no signature: if the node has signed with this key, the "+
			"validator may sign twice; stop the node, and move its data/priv_validator_state.json here, beside the key "+
			"(--never-signed for a validator that has never signed)", c.PrivValidatorStateFile()), held.Close())
	}
	server := privval.NewSignerServer(privval.NewSignerDialerEndpoint(logger.With("module", "signer"),
		announced(connect, logger),
		privval.SignerDialerEndpointConnRetries(dialTries), privval.SignerDialerEndpointRetryWaitInterval(dialPause),
		privval.SignerDialerEndpointTimeoutReadWrite(silence)), chainID, key)
	if err := server.Start(); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	logger.Info("connecting to the node, to sign its blocks", "validator", key.Key.Address, "chain", chainID,
		"node", o.connect)
	return func() { _ = errors.Join(server.Stop(), held.Close()) }, nil // the last signature is on the disk
}

// errNodeID means that another node than that of --node-id answers at --connect.
var errNodeID = errors.New("this is not the validator's node")

// dialer returns a function that connects to the node. Over TCP it rejects every node without the given id. Such a node
// could request signatures for later heights, after which the validator could not sign the chain's own.
func (o *signerOptions) dialer() (privval.SocketDialer, error) {
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
			return nil, errors.Join(fmt.Errorf("%w: the node at %s proves the id %s, --node-id is %s (spdl show-node-id prints "+
				"it at the node)", errNodeID, address, id, o.nodeID), c.Close())
		}
		return c, nil
	}, nil
}

// announced returns a dialer whose connections are reconnecting. It logs each connection, and once that another node
// answers.
func announced(connect privval.SocketDialer, logger log.Logger) privval.SocketDialer {
	said := ""
	return func() (net.Conn, error) {
		c, err := connect()
		switch {
		case err == nil:
			said = ""
			logger.Info("connected to the node: signing blocks")
		case errors.Is(err, errNodeID) && err.Error() != said:
			said = err.Error()
			logger.Error("nothing is signed", "err", err)
		}
		return reconnecting{c}, err
	}
}

// reconnecting is a connection whose failed reads look like timeouts, because CometBFT's endpoint
// connects again only after these. After the end of a stream, as when the node was killed, the
// endpoint would otherwise read from the same connection without a pause and without end.
type reconnecting struct{ net.Conn }

func (c reconnecting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		err = lostError{err}
	}
	return n, err
}

type lostError struct{ error }

func (lostError) Timeout() bool { return true }
