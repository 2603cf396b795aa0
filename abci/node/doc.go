// Package node starts and stops a CometBFT node around the application of a home: its databases,
// the checks before the start, and the worker in the node's process. It also reports why a node
// stopped: a consensus failure, an application hash mismatch, or an upgrade. `spdl start` and the
// in-process testnet run the same code.
package node
