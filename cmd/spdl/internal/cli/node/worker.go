package node

import (
	"errors"
	"fmt"

	"github.com/spdl/spdl/cmd/spdl/internal/cli/command"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/worker"
)

// Worker runs a participant's worker against any node's RPC.
func Worker() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a participant's worker against a node's RPC",
		Long: "Run a participant's worker against a node's RPC, with the key, journal and data of a home's app.toml.\n" +
			"It survives restarts of either side. Set worker.enabled = false where the node shares the home.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := command.LogAt(viper.GetString("log-level"), "info")
			if err != nil {
				return command.Usage(err)
			}
			chain, err := client.New(viper.GetString("node"))
			if err != nil {
				return command.Usage(err)
			}
			c, a, err := command.LoadHome()
			if err != nil {
				return err
			}
			if path := viper.GetString("key"); path != "" {
				a.Worker.KeyFile = path
			}
			keys, err := node.LoadKeys(node.InHome(c, a.Worker.KeyFile))
			if err != nil {
				return err
			}
			conf := node.WorkerOf(c, a, keys, node.LoadData, logger.With("module", "worker").Info)
			conf.Follow = viper.GetBool("follow")
			err = worker.Run(cmd.Context(), chain.Chain(a.Worker.PollInterval), conf)
			if errors.Is(err, worker.ErrJournal) {
				return fmt.Errorf("%w; remove it only if that chain is gone for ever", err)
			}
			return err
		},
	}
	command.NodeFlag(cmd)
	cmd.Flags().Bool("follow", false, "wait for the next epoch when training is finished")
	cmd.Flags().String("key", "", "participant key file (default: worker.key_file of app.toml)")
	cmd.Flags().String("log-level", "info", "log level")
	return cmd
}
