// Package params holds the parameters of a chain: the messages that its genesis
// and its epochs carry, what values they may have, and what follows from them
// alone (the number of parameters of the model, the size of a block, what the
// privacy budget pays for, the noise that an honest vector holds).
//
// Every node reads the same parameters and has to judge them alike, so nothing
// here depends on the machine. Units: reputations in parts per million, the
// ledger in 1e-9 nats of Renyi divergence, sizes in bytes, the tolerance in grid
// steps.
package params
