// Package explorer shows people what a node knows of the training. Its pages work without
// JavaScript, and /v1 serves the same data as JSON.
//
// The explorer only reads, through the node's public RPC, and trusts neither the node nor its
// clients. Text from the chain may be hostile: html/template escapes it for its place in the page,
// [visible] then replaces characters that would reverse or hide a line, and the
// Content-Security-Policy blocks what both miss. The explorer answers only GET and HEAD requests
// without a body, up to a rate for each client.
//
// One goroutine, the tail, follows the chain, whatever the number of readers: the home page and
// every event stream read from its memory. Records of closed rounds never change, so the explorer
// keeps them, up to a bound.
package explorer
