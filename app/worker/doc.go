// Package worker is a participant's side of the protocol (Algorithms 2 and 3
// of the paper): it follows the chain through a small interface, takes one
// training step a round, signs the aggregate whenever it may lead, and keeps a
// journal on disk, so that it never sends two different gradients for one
// round, whatever is restarted.
package worker
