// Package explorer serves people what a node knows of the training: the pages of package pages, and the same data as
// JSON under /v1.
//
// The explorer only reads, through the node's public RPC, and trusts neither the node nor its clients. Its
// Content-Security-Policy blocks what the escaping of the pages misses. It answers only GET and HEAD requests without
// a body, up to a rate for each client. Every answer is made once per look at the chain, whatever the number of
// readers.
package explorer
