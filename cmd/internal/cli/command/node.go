package command

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
)

// QueryTimeout is the timeout of a query.
const QueryTimeout = 10 * time.Second

// NodeFlag declares --node of a command that talks to a node.
func NodeFlag(cmd *cobra.Command, node *string) {
	Flag(cmd, node, "node", "", "RPC address of a node (default: rpc.laddr of the home's config.toml, else "+
		home.DefaultRPC+")")
}

// Address returns the RPC address of --node or, without it, of the home. The default home need not exist.
func (r *Run) Address(node string) (string, error) {
	address, err := home.RPCAddress(r.Home)
	switch {
	case node != "" && err == nil && r.Named:
		r.node, r.asked = node, fmt.Sprintf("--node is %s; the node of %s is at %s", node, r.HomeText, address)
	case node != "":
		r.node, r.asked = node, fmt.Sprintf("--node is %s", node)
	case err == nil:
		r.node, r.asked = address, fmt.Sprintf("%s is where the node of %s listens", address, r.HomeText)
	case r.Named:
		return "", err
	default:
		r.node, r.asked = home.DefaultRPC, fmt.Sprintf("%s is the default; --home or --node names another", home.DefaultRPC)
	}
	return r.node, nil
}

// Client returns a client for the node of --node, or else of the home.
func (r *Run) Client(node string) (*client.Client, error) {
	address, err := r.Address(node)
	if err != nil {
		return nil, err
	}
	return Dial(address)
}

// Dial returns a client of the node at an address that an option gives. It does not connect.
func Dial(address string) (*client.Client, error) {
	c, err := client.New(address)
	return c, Usage(err)
}

// explain adds, to an error about a node that did not answer, the remedy and the option that chose the node.
func (r *Run) explain(err error) error {
	switch {
	case r.asked == "" || !errors.Is(err, client.ErrUnreachable):
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		text := "no node answers at " + r.node + ": start one (spdl start, or spdl-lab testnet start --stay), or name " +
			"another with --node"
		if strings.Contains(r.asked, "the node of ") {
			text += " (" + r.asked + ")"
		}
		return silent{err, text}
	}
	return fmt.Errorf("%w (%s)", err, r.asked)
}

// silent is the error about a node that does not listen, with the remedy in place of the system's text.
type silent struct {
	error
	text string
}

func (e silent) Error() string { return e.text }
func (e silent) Unwrap() error { return e.error }
