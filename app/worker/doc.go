// Package worker is a participant's side of the protocol (Algorithms 2 and 3 of the paper). A
// worker follows the chain through the interface Chain, takes one training step a round, and signs
// the aggregate whenever it may lead. The journal on disk keeps the worker from sending two
// different gradients for one round, even if the worker or its node restarts.
package worker
