// Package admission decides which nodes may connect to a node: the nodes of active members, the
// persistent peers of config.toml, and p2p.allowed_peers of app.toml (ADR 21).
package admission
