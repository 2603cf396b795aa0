// Package node starts and stops a CometBFT node around the application of a home: its databases,
// the checks before the start, the worker in the node's process, and the ends that a node reports:
// consensus that halted, an application hash mismatch, an upgrade. `spdl start` and the in-process
// testnet run the same code.
package node
