// Package reactor has the p2p reactors of a node. TxReactor sends a transaction to a peer only once, and usually only
// on request (ADR 18). AggregateReactor sends aggregates ahead of the gradients. BlockReactor sends blocks by reference
// to transactions. ClockReactor compares the clocks of peers. The reactors affect only the transport: the application
// decides what a node admits and proposes.
package reactor
