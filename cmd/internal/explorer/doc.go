// Package explorer serves what a node knows of the training to people: pages
// that are whole without JavaScript, and the same as JSON under /v1.
//
// It only reads, by the node's public RPC, and it trusts nobody. Text of the chain is hostile:
// html/template escapes it for its place, [visible] then shows what would turn or hide a line, and
// the Content-Security-Policy blocks what gets past both. It answers only GET and HEAD requests
// without a body, within a client's rate.
//
// One goroutine, the tail, follows the chain, whatever the number of readers:
// the home page and every event stream are fed from its memory. Records of
// closed rounds never change and are kept, within a bound.
package explorer
