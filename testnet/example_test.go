package testnet_test

import (
	"fmt"
	"os"

	"github.com/spdl/spdl/testnet"
)

// Init makes the homes of a net; StartInProcess or StartProcesses then starts its nodes.
func ExampleInit() {
	dir, err := os.MkdirTemp("", "net")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	n, err := testnet.Init(testnet.Manifest{Home: dir, Preset: "pixels", Validators: 4, Rounds: 10, Seed: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(n.Nodes), "homes,", n.Genesis.Params.Training.Rounds, "rounds")
	again, err := testnet.Open(dir)
	fmt.Println(len(again.Nodes), "nodes to start, error", err)
	// Output:
	// 4 homes, 10 rounds
	// 4 nodes to start, error <nil>
}
