// Package testnet runs localnets: N nodes on loopback, each a validator with its worker, as
// separate processes or as goroutines of this process with real p2p between them. It makes their
// homes, supervises them, follows the rounds and reports them.
package testnet
