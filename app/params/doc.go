// Package params holds the parameters of a chain: the messages that its genesis and its epochs
// carry, the bounds of their values, and the quantities that follow from them alone (the number of
// parameters of the model, the size of a block, the participations that the privacy budget pays
// for, the noise in an honest vector).
//
// Every node reads the same parameters and must judge them alike, so nothing here depends on the
// machine. Units: reputations in parts per million, the ledger in 1e-9 nats of Renyi divergence,
// sizes in bytes, the tolerance in grid steps.
package params
