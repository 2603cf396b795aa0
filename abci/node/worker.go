package node

import (
	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/inputs"
)

// LoadData reads the data set of a folder; of "" the embedded MNIST.
func LoadData(dir string) (mnist.Data, error) {
	if dir == "" {
		return mnist.Embedded()
	}
	return mnist.Load(dir)
}

// WorkerOf is a home's worker: its key, journal, share of the data and source
// of noise.
func WorkerOf(c *config.Config, a AppConfig, keys worker.Keys, data func(dir string) (mnist.Data, error), log func(string, ...any)) worker.Config {
	path := InHome(c, a.Worker.KeyFile)
	w := worker.Config{Keys: keys, Reload: func() (worker.Keys, error) { return LoadKeys(path) }, Journal: InHome(c, a.Worker.Journal), Log: log}
	w.Data = func(t worker.Task) (mnist.Features, error) {
		set, err := data(a.Worker.Data)
		if err != nil {
			return mnist.Features{}, err
		}
		part, err := a.Worker.share(set.Train)
		if err != nil {
			return mnist.Features{}, err
		}
		return worker.Shard(set.Train, part, t.Params.Model, inputs.Keep{})
	}
	if a.Worker.TestSeed != 0 {
		log("TEST CHAIN ONLY: noise from a known seed gives no privacy", "seed", a.Worker.TestSeed)
		w.TestSeed = a.Worker.TestSeed
	}
	return w
}

// share is the participant's part of a training set.
func (w WorkerConfig) share(set mnist.Set) ([]int, error) {
	if w.Partition == PartitionDirichlet {
		parts, err := mnist.PartitionDirichlet(set.Labels, mnist.Classes, w.Parts, w.Alpha, w.PartitionSeed)
		if err != nil {
			return nil, err
		}
		return parts[w.Part], nil
	}
	return mnist.PartitionIID(set.Len(), w.Parts, w.PartitionSeed)[w.Part], nil
}
