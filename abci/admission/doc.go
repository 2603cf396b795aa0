// Package admission decides which nodes may connect to a node: the nodes of active members, the
// persistent peers in config.toml, and p2p.allowed_peers in app.toml (ADR 21).
package admission
