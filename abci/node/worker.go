package node

import (
	"os"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/mnist/inputs"
)

// features is the folder of a home that keeps the features of its participant's
// images from one start to the next.
const features = "data/features"

// LoadData reads the data set of a folder; of "" the embedded MNIST.
func LoadData(dir string) (mnist.Data, error) {
	if dir == "" {
		return mnist.Embedded()
	}
	return mnist.Load(dir)
}

// WorkerOf returns a home's worker: its key, journal, policy, share of the data and
// source of noise.
func WorkerOf(c *config.Config, a AppConfig, keys worker.Keys, data func(dir string) (mnist.Data, error), log func(string, ...any)) (worker.Config, error) {
	path := InHome(c, a.Worker.KeyFile)
	policy, err := homePolicy(c, a.Worker)
	if err != nil {
		return worker.Config{}, err
	}
	w := worker.Config{
		Keys: keys, Reload: func() (worker.Keys, error) { return LoadKeys(path) }, Journal: InHome(c, a.Worker.Journal), Policy: policy, Log: log,
	}
	w.Data = func(t worker.Task) (mnist.Features, error) {
		set, err := data(a.Worker.Data)
		if err != nil {
			return mnist.Features{}, err
		}
		part, err := a.Worker.share(set.Train)
		if err != nil {
			return mnist.Features{}, err
		}
		keep, err := keepIn(InHome(c, features), log)
		if err != nil {
			return mnist.Features{}, err
		}
		return worker.Shard(set.Train, part, t.Params.Model, keep)
	}
	if a.Worker.TestSeed != 0 {
		log("TEST CHAIN ONLY: noise from a known seed gives no privacy", "seed", a.Worker.TestSeed)
		w.TestSeed = a.Worker.TestSeed
	}
	return w, nil
}

// keepIn keeps features in a folder, and logs how far a long computation is.
func keepIn(folder string, log func(string, ...any)) (inputs.Keep, error) {
	if err := os.MkdirAll(folder, config.DefaultDirPerm); err != nil {
		return inputs.Keep{}, err
	}
	const every = 2 * time.Second
	last := time.Now()
	return inputs.Keep{Folder: folder, Progress: func(done int) {
		if time.Since(last) >= every {
			last = time.Now()
			log("computing the features of the training images", "done", done)
		}
	}}, nil
}

// share returns the participant's part of a training set.
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
