//go:build e2e

package e2e

import (
	"runtime"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
	"github.com/spdl/spdl/testnet"
)

// gradientCPU returns the CPU seconds that the gradients of all participants of a round take, with
// batch, clipping and noise, and without proof, signature and journal: of steps of one participant
// alone, before the net runs. Beside a net, with cold caches, they take no less.
func gradientCPU(n *testnet.Net) (float64, error) {
	p, parts := n.Genesis.Params, len(n.Nodes)
	all, err := home.LoadData(n.Manifest.Data, p.Model)
	if err != nil {
		return 0, err
	}
	part, err := all.Train.Part(func(labels []uint8) ([]int, error) {
		return mnist.PartitionIID(len(labels), parts, 1)[0],
			nil
	})
	if err != nil {
		return 0, err
	}
	data, err := worker.Shard(part, nil, p.Model, inputs.Keep{})
	if err != nil {
		return 0, err
	}
	trainer, err := worker.NewTrainer(p, data, privacy.NewTestSource(1))
	if err != nil {
		return 0, err
	}
	x := make([]float64, p.Model.Dim())
	const before, counted = 10, 100
	var start float64
	for i := range before + counted {
		if i == before {
			runtime.GC()
			start = cpuSeconds()
		}
		trainer.Step(x)
	}
	return (cpuSeconds() - start) / counted * float64(parts), nil
}
