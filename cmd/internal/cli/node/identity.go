package node

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// IdentityOptions are the options of a participant's identity.
type IdentityOptions struct {
	Moniker, Address, Nodes *string
	WorkerOnly              bool
}

// Flag declares --key, and --passphrase-fd.
func Flag(cmd *cobra.Command, key *string) {
	command.PassphraseFlag(cmd)
	command.Flag(cmd, key, "key", "", "participant key file, relative to the home (default: worker.key_file of app.toml)")
}

// File returns the participant key file of --key or of the home.
func File(key string, c *config.Config, a home.AppConfig) string {
	return home.InHome(c, cmp.Or(key, a.Worker.KeyFile))
}

// Flags declares the options.
func (o *IdentityOptions) Flags(cmd *cobra.Command) {
	command.Optional(cmd, &o.Moniker, "moniker", "name that people read (default: moniker of config.toml)")
	command.Optional(cmd, &o.Address, "address", "where the node is reached, as host:port or id@host:port (default: of "+
		"config.toml, unless it is the loopback's)")
	command.Optional(cmd, &o.Nodes, "nodes", "ids of the nodes that the others are to let in, separated by commas "+
		"(default: that of the home; none with --worker-only)")
	command.Flag(cmd, &o.WorkerOnly, "worker-only", false, "be a participant without a validator, which trains by way of "+
		"another participant's node")
}

// Identity returns the home's public identity, changed by the flags, and its keys, from the key
// file of --key or of the home.
func (o IdentityOptions) Identity(r *command.Run, key string) (app.Identity, worker.Keys, error) {
	c, a, err := r.LoadHome()
	if err != nil {
		return app.Identity{}, worker.Keys{}, err
	}
	store := r.Keystore()
	if key == "" && a.Worker.Signer != "" {
		return app.Identity{}, worker.Keys{}, fmt.Errorf("the participant's keys are at its signer, %s, and this takes "+
			"their proofs of possession: do it before spdl signer init, or with --key FILE", a.Worker.Signer)
	}
	keys, err := store.LoadKeys(File(key, c, a))
	if err != nil {
		return app.Identity{}, keys, err
	}
	var consensus []byte
	if !o.WorkerOnly {
		key, err := store.LoadValidatorKey(c.PrivValidatorKeyFile())
		if err != nil {
			return app.Identity{}, keys, err
		}
		consensus = key.Public().(ed25519.PublicKey)
	}
	who := home.Identity(keys, consensus, c.Moniker)
	if m := command.Or(o.Moniker, ""); m != "" {
		who.Moniker = m
	}
	if who.NodeIDs, err = o.nodes(c, store); err != nil {
		return who, keys, err
	}
	if who.Address, err = o.reachedAt(c, store, who.NodeIDs); err != nil {
		return who, keys, err
	}
	err = who.Check() // other nodes would reject it
	if err != nil && (o.Moniker != nil || o.Address != nil || o.Nodes != nil) {
		err = command.Usage(err)
	}
	return who, keys, err
}

// reachedAt returns the address of --address, completed by the first node id, or that of the home.
func (o IdentityOptions) reachedAt(c *config.Config, s *home.Keystore, nodes []string) (string, error) {
	given := command.Or(o.Address, "")
	if given == "" {
		return address(c, s)
	}
	if _, _, err := net.SplitHostPort(given); err == nil && !strings.Contains(given, "@") && len(nodes) > 0 {
		return nodes[0] + "@" + given, nil
	}
	return given, nil
}

// nodes returns the ids of --nodes, or that of the home.
func (o IdentityOptions) nodes(c *config.Config, s *home.Keystore) ([]string, error) {
	if list := command.Or(o.Nodes, ""); list != "" {
		return NodeIDs(list), nil
	}
	if o.WorkerOnly {
		return nil, nil
	}
	key, err := s.LoadNodeKey(c.NodeKeyFile())
	if err != nil {
		return nil, err
	}
	return []string{string(key.ID())}, nil
}

// NodeIDs returns the ids of a comma-separated list, sorted and without duplicates, as they are registered.
func NodeIDs(list string) (ids []string) {
	for id := range strings.SplitSeq(list, ",") {
		ids = append(ids, strings.ToLower(strings.TrimSpace(id)))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// address returns the node's address in config.toml, or "" if other nodes cannot reach its host.
func address(c *config.Config, s *home.Keystore) (string, error) {
	at := configured(c)
	host, _, err := net.SplitHostPort(at)
	if at != "" && err != nil {
		return "", fmt.Errorf("config.toml: p2p address %q: %w", at, err)
	}
	if unreachable(host) != "" { // also if it dials alone
		return "", nil
	}
	key, err := s.LoadNodeKey(c.NodeKeyFile())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s@%s", key.ID(), at), nil
}

// configured returns the address at which config.toml says that others reach the node, "" if it dials alone.
func configured(c *config.Config) string {
	return strings.TrimPrefix(cmp.Or(c.P2P.ExternalAddress, c.P2P.ListenAddress), "tcp://")
}

// unreachable says what keeps other nodes from reaching a host, "" if nothing does.
func unreachable(host string) string {
	switch ip := net.ParseIP(host); {
	case host == "localhost" || ip != nil && ip.IsLoopback():
		return "a loopback address"
	case host == "" || ip != nil && ip.IsUnspecified():
		return "an unspecified address"
	}
	return ""
}

// NoAddress says why the address of config.toml is not registered.
func NoAddress(c *config.Config) string {
	at := configured(c)
	if host, _, _ := net.SplitHostPort(at); at != "" {
		return fmt.Sprintf("the home's, %s, is %s, which other nodes cannot reach", at, unreachable(host))
	}
	return "the home's node listens nowhere"
}

// Holder returns the active participant with a public key. file is where the key is, for errors: a
// key file or a signer. Without such a participant it fails with worker.ErrNotParticipant, and says
// whether the key once belonged to one.
func Holder(all []app.Participant, file string, pub []byte) (app.Participant, error) {
	p := (&app.State{Participants: all}).HolderOf(pub)
	switch {
	case p == nil:
		return app.Participant{}, fmt.Errorf("%w: %X of %s (spdl tx join asks for membership)", worker.ErrNotParticipant, pub,
			file)
	case !bytes.Equal(p.PubKey, pub):
		return *p, fmt.Errorf("%w: %X of %s is a former key of participant %d, rotated since", worker.ErrNotParticipant, pub,
			file, p.Index)
	case !p.Active:
		return *p, fmt.Errorf("%w: %X of %s is that of participant %d, which has left", worker.ErrNotParticipant, pub, file,
			p.Index)
	}
	return *p, nil
}
