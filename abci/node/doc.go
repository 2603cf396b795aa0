// Package node starts and stops a CometBFT node with the application of a home. It opens the databases, makes the
// checks before the start, and runs the worker in the node's process. It also reports why a node stopped: a consensus
// failure, an application hash mismatch, or an upgrade. `spdl start` and testnets in one process run the same code.
package node
