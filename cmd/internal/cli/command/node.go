package command

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
)

// QueryTimeout is the timeout of a query.
const QueryTimeout = 10 * time.Second

// Node is the option of a command that talks to a node.
type Node struct {
	Node string `mapstructure:"node"`
}

// NodeFlag adds --node.
func NodeFlag(cmd *cobra.Command) {
	cmd.Flags().String("node", "", "RPC address of a node (default: rpc.laddr of the home's config.toml, else "+
		home.DefaultRPC+")")
}

// Address returns the RPC address of --node or, without it, of the home. The default home need not
// exist.
func (r *Run) Address(o Node) (string, error) {
	address, err := home.RPCAddress(r.Home)
	switch {
	case o.Node != "" && err == nil && r.Named:
		r.asked = fmt.Sprintf("--node is %s; the node of %s is at %s", o.Node, r.Home, address)
		return o.Node, nil
	case o.Node != "":
		r.asked = fmt.Sprintf("--node is %s", o.Node)
		return o.Node, nil
	case err == nil:
		r.asked = fmt.Sprintf("%s is where the node of %s listens; --node asks another", address, r.Home)
		return address, nil
	case r.Named:
		return "", r.localnet(err)
	}
	r.asked = fmt.Sprintf("%s is the default; --home or --node names another", home.DefaultRPC)
	return home.DefaultRPC, nil
}

// Client returns a client of the node of --node or of the home.
func (r *Run) Client(o Node) (*client.Client, error) {
	address, err := r.Address(o)
	if err != nil {
		return nil, err
	}
	return Dial(address)
}

// Dial returns a client of the node at an address that an option gives. It does not connect.
func Dial(address string) (*client.Client, error) {
	c, err := client.New(address)
	if err != nil {
		return nil, Usage(err)
	}
	return c, nil
}

// explain says what to do about a node that did not answer, and why it was asked.
func (r *Run) explain(err error) error {
	switch {
	case r.asked == "" || !errors.Is(err, client.ErrUnreachable):
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		return silent{err, "no node answers: start one (spdl start, or spdl testnet start --stay), or name another " +
			"with --node (" + r.asked + ")"}
	}
	return fmt.Errorf("%w (%s)", err, r.asked)
}

// silent is the error of a node that does not listen, with the remedy in place of the system's text.
type silent struct {
	error
	text string
}

func (e silent) Error() string { return e.text }
func (e silent) Unwrap() error { return e.error }

// Timeout is the option of a command that waits.
type Timeout struct {
	Timeout time.Duration `mapstructure:"timeout"`
}

// Check rejects a timeout that is not above 0.
func (t Timeout) Check() error {
	if t.Timeout <= 0 {
		return Usage(fmt.Errorf("--timeout is %v, want above 0", t.Timeout))
	}
	return nil
}
