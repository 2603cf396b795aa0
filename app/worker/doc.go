// Package worker is a participant's side of the protocol (Algorithms 2 and 3 of the paper). A
// worker follows the chain through a small interface, takes one training step a round, and signs
// the aggregate whenever it may lead. Its journal on disk keeps it from sending two different
// gradients for one round, even if it or its node restarts.
package worker
