// Package testnet runs localnets: N nodes on loopback, each a validator with its worker, as separate processes or as
// goroutines of this process with real p2p between them. It makes their homes, supervises them, follows the rounds and
// reports them. No program of a member links it: spdl-lab does (TestProductWithoutLaboratory).
//
// # Usage
//
// A Manifest describes a net and its faults, as a file of TOML or as a struct. Init makes the
// homes, a start function the nodes, and Follow delivers each closed round:
//
//	n, err := testnet.Init(testnet.Manifest{Home: dir, Preset: "pixels", Validators: 4, Seed: 1})
//	nodes, err := testnet.StartInProcess(n, logger) // or StartProcesses(n, binary)
//	err = testnet.Follow(ctx, n, evaluator, func(r testnet.Round) error { return print(r) })
//	err = nodes.Stop()
//
// Open returns a net that Init has made before, which goes on where it was.
//
// # What a manifest can say
//
//	validators, workers, relays     nodes with keys, participants without a node, nodes without keys
//	preset, params, model, trainer  what is trained, with which rule, noise and budget
//	partition, alpha, data          who has which examples
//	[[attack]]                      a node's participant misbehaves (package attack)
//	[[perturb]]                     at a round a node is killed, paused, cut off, slowed, or upgraded
//	[[zone]], [[route]]             delays between places (package link)
//	seed                            fixes genesis, partition and noise: nothing is private then
//
// # Levels of a test
//
// The same rules run on five nets, from the fastest to the most real:
//
//	sim           the application alone, in virtual time: scripts and random histories
//	quint         a model that was written from SPEC.md, whose traces the application must follow
//	virtual       full nodes in virtual time, with CometBFT's consensus and gossip
//	testnet       full nodes in one process, or in processes of their own
//	e2e           the programs as members run them: kill -9, full disks, upgrades, browsers
//
// A failure of the first three prints a seed or a file that plays it again.
//
// # Beneath it
//
//	attack      what attackers send, for experiments and for nodes
//	hostile     peers that break the network's protocols
//	experiment  the figures of the paper and of the documents
package testnet
