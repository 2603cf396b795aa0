// Package testnet runs localnets: N nodes on loopback, each a validator with
// its worker, as processes of their own or as goroutines of this one with real
// p2p between them. It makes their homes, supervises them, follows the rounds
// and reports them.
package testnet
