package watch

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/explorer"
)

type explorerOptions struct {
	node   string
	models command.Models
	hosts  []string
	app    home.AppConfig // its sections explorer and api
}

// Explorer returns the command that serves the pages about any node.
func Explorer() *cobra.Command {
	o := &explorerOptions{app: home.DefaultAppConfig()}
	o.app.Explorer.Enabled = true
	cmd := command.Service(command.New(&cobra.Command{
		Use:   "explorer",
		Short: "Serve web pages, and JSON under /v1, about the training",
		Long: `Serve web pages, and JSON under /v1, about the training of any node. It needs no home and no key, and only
reads. With --eval it measures models on the data or by the trainer of --home, --data or --trainer. A node
serves the same by itself with explorer.enabled = true in app.toml.`,
		Example: "  spdl explorer --eval --home ./node\n" +
			"  spdl explorer --node tcp://127.0.0.1:26657 --laddr 127.0.0.1:9000",
	}, o.run))
	pages, api := &o.app.Explorer, &o.app.API
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &pages.Laddr, "laddr", pages.Laddr, "address to listen on")
	command.Flag(cmd, &pages.Eval, "eval", false, "measure accuracy and loss of the model after every round")
	command.Flag(cmd, &pages.Gain, "gain", false, "have a page with what one gains by the model on the rows of the home "+
		"or --data, which are private: for loopback and private addresses alone")
	o.models.Flags(cmd, "the home")
	command.Flag(cmd, &o.hosts, "hosts", nil, "host names in requests that it accepts, beside addresses and localhost")
	command.Flag(cmd, &api.Rate, "rate", api.Rate, "requests a second of one client")
	command.Flag(cmd, &api.Burst, "burst", api.Burst, "requests at once of one client, before --rate limits it")
	command.Flag(cmd, &api.MaxConnections, "max-connections", api.MaxConnections, "max number of connections")
	command.Flag(cmd, &api.MaxStreams, "max-streams", api.MaxStreams, "max number of event streams")
	command.Flag(cmd, &api.StreamsPerClient, "streams-per-client", api.StreamsPerClient,
		"max number of event streams of one client")
	return cmd
}

func (o *explorerOptions) run(r *command.Run, _ []string) error {
	o.app.API.Hosts = strings.Join(o.hosts, ",")
	if err := o.app.Validate(); err != nil {
		return command.Usage(err)
	}
	e, err := r.Evaluator(o.node, o.models)
	if err != nil {
		return err
	}
	defer e.Close()
	served := explorer.OptionsOf(o.app, e)
	served.Log = log.NewFilter(command.OneLine(log.NewTMLogger(log.NewSyncWriter(r.Err))), log.AllowInfo()).Info
	address, err := r.Address(o.node)
	if err != nil {
		return err
	}
	s, err := explorer.Open(address, served)
	if err != nil {
		return command.Usage(err)
	}
	l, err := o.listen(r)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String()
	if err := r.Show(map[string]string{"url": url}, command.Line(url)); err != nil {
		return errors.Join(err, l.Close())
	}
	return s.Serve(r.Context, l)
}

// listen listens on the address of --laddr, or on the default one, in place of which it takes one of the next ports if
// its port is in use.
func (o *explorerOptions) listen(r *command.Run) (net.Listener, error) {
	laddr := &o.app.Explorer.Laddr
	if r.Given(laddr) {
		return explorer.Listen(*laddr)
	}
	l, err := explorer.ListenNear(*laddr)
	if err == nil && "tcp://"+l.Addr().String() != *laddr {
		r.Warn(fmt.Sprintf("%s is in use: the pages are at %s; --laddr names an address", *laddr, l.Addr()))
	}
	return l, err
}
