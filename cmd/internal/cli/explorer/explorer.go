// Package explorer has the command that serves web pages about any node.
package explorer

import (
	"errors"
	"strings"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/explorer"
)

type options struct {
	command.Node     `mapstructure:",squash"`
	command.Models   `mapstructure:",squash"`
	Laddr            string   `mapstructure:"laddr"`
	Eval             bool     `mapstructure:"eval"`
	Hosts            []string `mapstructure:"hosts"`
	Rate             float64  `mapstructure:"rate"`
	Burst            int      `mapstructure:"burst"`
	MaxConnections   int      `mapstructure:"max-connections"`
	MaxStreams       int      `mapstructure:"max-streams"`
	StreamsPerClient int      `mapstructure:"streams-per-client"`
}

// Command returns the command that serves the pages about any node.
func Command() *cobra.Command {
	a := home.DefaultAppConfig()
	cmd := command.New(&cobra.Command{
		Use:   "explorer",
		Short: "Serve web pages, and JSON under /v1, about the training of any node",
		Long: "Serve web pages, and JSON under /v1, about the training of any node. It needs no home and no key, and " +
			"only reads.\n" +
			"With --eval it measures models on the data or by the trainer of --home, --data or --trainer.\n" +
			"A node serves the same by itself with explorer.enabled = true in app.toml.",
	}, func(r *command.Run, o *options, _ []string) error {
		logger := log.NewFilter(log.NewTMLogger(log.NewSyncWriter(r.Err)), log.AllowInfo())
		a.API.Hosts, a.API.Rate, a.API.Burst = strings.Join(o.Hosts, ","), o.Rate, o.Burst
		a.API.MaxConnections, a.API.MaxStreams, a.API.StreamsPerClient = o.MaxConnections, o.MaxStreams, o.StreamsPerClient
		a.Explorer.Eval, a.Explorer.Laddr, a.Explorer.Enabled = o.Eval, o.Laddr, true
		if err := a.Validate(); err != nil {
			return command.Usage(err)
		}
		e, err := r.Evaluator(o.Node, o.Models)
		if err != nil {
			return err
		}
		defer e.Close()
		served := explorer.OptionsOf(a, e)
		served.Log = logger.Info
		address, err := r.Address(o.Node)
		if err != nil {
			return err
		}
		s, err := explorer.Open(address, served)
		if err != nil {
			return command.Usage(err)
		}
		l, err := explorer.Listen(a.Explorer.Laddr)
		if err != nil {
			return err
		}
		url := "http://" + l.Addr().String()
		if err := r.Show(map[string]string{"url": url}, command.Line(url)); err != nil {
			return errors.Join(err, l.Close())
		}
		return s.Serve(r.Context, l)
	})
	command.NodeFlag(cmd)
	cmd.Flags().String("laddr", a.Explorer.Laddr, "address to listen on")
	cmd.Flags().Bool("eval", false, "measure accuracy and loss of the model after every round")
	command.ModelFlags(cmd)
	cmd.Flags().StringSlice("hosts", nil, "names that it is served under, beside addresses and localhost")
	cmd.Flags().Float64("rate", a.API.Rate, "requests a second of one client")
	cmd.Flags().Int("burst", a.API.Burst, "requests at once of one client")
	cmd.Flags().Int("max-connections", a.API.MaxConnections, "most connections")
	cmd.Flags().Int("max-streams", a.API.MaxStreams, "most event streams")
	cmd.Flags().Int("streams-per-client", a.API.StreamsPerClient, "most event streams of one client")
	return cmd
}
