// Package params holds the parameters of a chain: the messages in its genesis and its epochs, the bounds on their
// values, and the quantities that follow from them alone. Those are the number of the model's parameters, the size of a
// block, the participations that the privacy budget pays for, and the noise in an honest vector.
//
// Every node must accept the same parameters, so nothing here depends on the machine. Units: reputations in parts per
// million, the ledger in 1e-9 nats of Renyi divergence and 1e-12 of mu², sizes in bytes, the tolerance in grid steps.
package params
