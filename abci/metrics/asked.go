package metrics

import "github.com/prometheus/client_golang/prometheus"

// Asked has the gauges that Gauge and Truth register, with their helps.
var Asked = map[string]string{
	"blocks_behind":   "Blocks that nodes of more than f members have, and this node has not committed.",
	"disk_free_bytes": "Bytes that the node can still write to the disk of its databases.",
	"signer_answers":  "1 while the signer of the participant's keys answers, else 0; absent without worker.signer.",
	"validator_signer_connected": "1 while the signer of the validator's key is connected, else 0; absent without " +
		"priv_validator_laddr.",
	"worker_stopped": "1 after the worker has stopped and the validator goes on without it, else 0; absent without a " +
		"worker in the node.",
	"consent_awaited": "1 while the running epoch awaits the consent of this home, else 0; absent unless " +
		"worker.consent asks.",
}

// Gauge registers a gauge of Asked. Each collection of the metrics calls value for the gauge's value.
func (m *Metrics) Gauge(name string, value func() float64) {
	if m == nil {
		return
	}
	register[prometheus.Collector](m.registry, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace,
		Name: name, Help: Asked[name], ConstLabels: prometheus.Labels{"chain_id": m.chainID}}, value))
}

// Truth registers a gauge of Asked that is 1 while holds returns true, and 0 otherwise.
func (m *Metrics) Truth(name string, holds func() bool) {
	m.Gauge(name, func() float64 {
		if holds() {
			return 1
		}
		return 0
	})
}

// PeersRejected registers two counters of rejected connections: strangers, rejected after the
// handshake, and handshakes, rejected before it because unknown addresses began too many.
func (m *Metrics) PeersRejected(strangers, handshakes func() int64) {
	if m == nil {
		return
	}
	for reason, count := range map[string]func() int64{"stranger": strangers, "handshakes": handshakes} {
		register[prometheus.Collector](m.registry, prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace,
			Name: "peers_rejected_total", Help: "Connections that this node has rejected: of a stranger, " +
				"or of unknown addresses that want too many handshakes.",
			ConstLabels: prometheus.Labels{"chain_id": m.chainID, "reason": reason}},
			func() float64 { return float64(count()) }))
	}
}
