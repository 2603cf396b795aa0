package query

// PeerClock is an element of the answer to /clocks.
type PeerClock struct {
	NodeID  string  `json:"node_id"`
	AheadMs float64 `json:"ahead_ms"` // the peer's clock minus this node's clock, too low by the message's transit time
}
