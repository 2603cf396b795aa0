// Package metrics holds the application's Prometheus metrics, under the namespace spdl, in addition
// to CometBFT's metrics. The ABCI methods and the node update the metrics; no metric influences
// consensus. A nil *Metrics accepts all calls and records nothing.
package metrics

import (
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// namespace is the first part of the name of every metric.
const namespace = "spdl"

// These are the label values for the ABCI methods that can reject a transaction or a proposal.
const (
	VerbCheckTx         = "check_tx"
	VerbProcessProposal = "process_proposal"
)

// These are the values of the label stage: the stages of a round.
const (
	stageLGC = "lgc" // local gradient computation
	stageGE  = "ge"  // gradient exchange
	stageBC  = "bc"  // blockchain consensus
)

// Metrics holds the metrics of one node. The number of label values is bounded: the labels are
// stages, methods, result codes, kinds of bytes, and the indices of participants.
type Metrics struct {
	// by their names, without namespace
	gauges     map[string]*prometheus.GaugeVec
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec

	registry prometheus.Registerer
	chainID  string
	mu       sync.Mutex
	known    map[uint32]bool // the participants that have gauges
}

// New registers the metrics for a node of a chain, labelled with the chain's id. It reuses
// collectors that are already registered, so that the nodes of one process share them.
func New(r prometheus.Registerer, chainID string) *Metrics {
	m := &Metrics{registry: r, chainID: chainID, known: map[uint32]bool{}, gauges: map[string]*prometheus.GaugeVec{},
		counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{}}
	gauge := func(name, help string, labels ...string) {
		m.gauges[name] = register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: name, Help: help}, withChain(labels)))
	}
	counter := func(name, help string, labels ...string) {
		m.counters[name] = register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: name, Help: help}, withChain(labels)))
	}
	histogram := func(name, help string, labels ...string) {
		m.histograms[name] = register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, 17), // 1 ms to 65 s
		}, withChain(labels)))
	}
	gauge("build_info", "1, labelled with the versions of the program, of its state machine and of CometBFT.",
		"version", "state_machine", "cometbft")
	gauge("height", "Height of the last committed block.")
	gauge("epoch", "The running epoch, from 0.")
	gauge("round", "The open round of the epoch, from 0; equal to rounds_planned when all are closed.")
	gauge("rounds_planned", "Rounds of the running epoch.")
	gauge("finished", "1 when the epoch's training is over, else 0.")
	gauge("round_opened_timestamp_seconds", "When this node saw the open round begin, in Unix time.")
	gauge("clock_offset_seconds", "How far this host's clock is ahead of the median of its members' and "+
		"persistent peers', below 0 behind; 0 with fewer than three of them.")
	gauge("participants", "Active participants, N.")
	gauge("participants_resting", "Active participants for which rounds do not wait, because they missed rounds.")
	gauge("byzantine", "Byzantine participants that the rule withstands now, f.")
	gauge("offences", "Proven offences: equivocations and double votes.")
	gauge("proposals_open", "Proposals that await approvals or a round boundary.")
	gauge("upgrade_height", "First height of the planned upgrade; 0 if none is planned.")
	gauge("epsilon_budget", "Epsilon that the epoch lets each participant spend; 0 for no budget.")
	counter("rounds_closed_total", "Rounds that this node has seen closed since it started.")
	counter("view_changes_total", "Leaders passed over in closed rounds.")
	counter("gradients_included_total", "Gradients in closed rounds.")
	counter("rejected_total", "Transactions that check_tx rejected, and proposals that process_proposal "+
		"rejected, by result code.", "verb", "code", "reason")
	histogram("round_stage_seconds", "Histogram of a round's stages on this node's clock: lgc local gradient "+
		"computation, ge gradient exchange, bc consensus. Stages that it did not see whole are left out.", "stage")
	histogram("execute_seconds", "Histogram: judging a block that closes a round, with signatures, VRF "+
		"proofs, rule and state hash.")
	histogram("rule_seconds", "Histogram: computing the aggregate of a round by the rule, where this "+
		"node's participant leads.")
	gauge("pool_transactions", "Transactions in the application's pool.")
	gauge("pool_bytes", "Bytes in the application's pool.")
	gauge("reputation", "Reputation of an active participant, within 0 and 1.", "participant")
	gauge("weight", "Weight of a participant's gradient in the last closed round, 1 for an equal share; "+
		"absent without its gradient, and where the rule gives no weights.", "participant")
	gauge("epsilon_spent", "Epsilon that an active participant's gradients have cost, by the ledger, "+
		"which cannot prove that noise was added; absent without a guarantee.", "participant")
	gauge("participations_left", "Gradients that an active participant's budget still pays for; absent "+
		"without a budget.", "participant")
	counter("contributions_total", "Gradients of a participant in closed rounds, since this "+
		"node started, and whether they entered Delta.", "participant", "selected")
	gauge("participant_active", "1 while this node's participant is active, 0 after it has left; absent "+
		"without a participant.")
	gauge("rounds_since_gradient", "Closed rounds since the last one with a gradient of this node's "+
		"participant, since this node started; absent without a participant.")
	gauge("blocks_since_vote", "Blocks since the last commit with a vote of this node's validator, since this "+
		"node started; absent without a validator.")
	for _, verb := range []string{VerbCheckTx, VerbProcessProposal} {
		m.Add("rejected_total", 0, verb, "0", "none") // creates the counter before the first rejection
	}
	counter("gossip_received_bytes_total", "Bytes of transactions that peers sent: new, known before, "+
		"refused; and of their announcement.", "what")
	for _, what := range []string{ReceivedNew, ReceivedKnown, ReceivedRefused, ReceivedAnnouncement} {
		m.Add("gossip_received_bytes_total", 0, what)
	}
	counter("block_parts_total", "Parts of proposed blocks that this node rebuilt from its pool, or "+
		"requested from a peer because a transaction of the block had not reached it.", "how")
	for _, how := range []string{PartsRebuilt, PartsRequested} {
		m.Add("block_parts_total", 0, how)
	}
	m.Add("rounds_closed_total", 0)
	m.Add("view_changes_total", 0)
	m.Add("gradients_included_total", 0)
	return m
}

// Set sets a gauge of New by its name, without namespace. labels are the values of its labels behind the chain's id.
func (m *Metrics) Set(name string, x float64, labels ...string) {
	if m != nil {
		m.gauges[name].WithLabelValues(slices.Insert(labels, 0, m.chainID)...).Set(x)
	}
}

// Add adds to a counter, as Set sets a gauge.
func (m *Metrics) Add(name string, x float64, labels ...string) {
	if m != nil {
		m.counters[name].WithLabelValues(slices.Insert(labels, 0, m.chainID)...).Add(x)
	}
}

// Observe adds a value to a histogram, as Set sets a gauge.
func (m *Metrics) Observe(name string, x float64, labels ...string) {
	if m != nil {
		m.histograms[name].WithLabelValues(slices.Insert(labels, 0, m.chainID)...).Observe(x)
	}
}

// These are the values of the label what for the bytes that gossip receives: transactions that are
// new to this node, known to it or refused by it, and announcements of transactions.
const (
	ReceivedNew          = "new"
	ReceivedKnown        = "known"
	ReceivedRefused      = "refused"
	ReceivedAnnouncement = "announcement"
)

// These are the values of the label how: the ways in which a node gets the parts of a proposed block.
const (
	PartsRebuilt   = "rebuilt"
	PartsRequested = "requested"
)

func withChain(labels []string) []string { return append([]string{"chain_id"}, labels...) }

// register registers a collector, or returns the collector that is already registered.
func register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	var there prometheus.AlreadyRegisteredError
	switch {
	case errors.As(err, &there):
		return there.ExistingCollector.(C)
	case err != nil:
		panic(err) // two different metrics have the same name
	}
	return c
}

// Standing holds the values of one active participant.
type Standing struct {
	Participant uint32
	Reputation  float64
	Epsilon     *float64 // the spent epsilon; nil if an epoch has no ledger
	Left        *uint64  // the number of participations that the budget pays for; nil if an epoch has no ledger
}

// State updates the metrics after the state has changed: gauges by their names, and those of the active participants.
func (m *Metrics) State(gauges map[string]float64, standings []Standing) {
	if m == nil {
		return
	}
	for name, x := range gauges {
		m.Set(name, x)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := m.known
	m.known = make(map[uint32]bool, len(standings))
	for _, s := range standings {
		p := index(s.Participant)
		m.known[s.Participant] = true
		delete(gone, s.Participant)
		m.Set("reputation", s.Reputation, p)
		if s.Epsilon != nil {
			m.Set("epsilon_spent", *s.Epsilon, p)
		}
		if s.Left != nil {
			m.Set("participations_left", float64(*s.Left), p)
		}
	}
	for p := range gone {
		for _, name := range []string{"reputation", "epsilon_spent", "participations_left", "weight"} {
			m.gauges[name].DeleteLabelValues(m.chainID, index(p))
		}
	}
}

func index(p uint32) string { return strconv.FormatUint(uint64(p), 10) }

// RecordRoundClosing records a closed round: the number of leaders that were passed over, the
// number of included gradients, and three times in milliseconds, 0 if unknown. lgc is the time of
// local gradient computation, ge the time of the gradient exchange, and bc the time of consensus.
func (m *Metrics) RecordRoundClosing(passedOver, included int, lgc, ge, bc float64) {
	m.Add("rounds_closed_total", 1)
	m.Add("view_changes_total", float64(passedOver))
	m.Add("gradients_included_total", float64(included))
	for _, s := range []struct {
		name string
		ms   float64
	}{{stageLGC, lgc}, {stageGE, ge}, {stageBC, bc}} {
		if s.ms > 0 {
			m.Observe("round_stage_seconds", s.ms/1000, s.name)
		}
	}
}

// OwnRound updates, after a closed round, the number of rounds since the last gradient of this
// node's participant. hasGradient tells whether the closed round has one.
func (m *Metrics) OwnRound(hasGradient bool) {
	if m == nil {
		return
	}
	own := m.gauges["rounds_since_gradient"].WithLabelValues(m.chainID)
	own.Inc()
	if hasGradient {
		own.Set(0)
	}
}

// Weigh records the weights of a closed round's gradients, by participant, and forgets those of the round before.
func (m *Metrics) Weigh(weights map[uint32]float64) {
	if m == nil {
		return
	}
	m.gauges["weight"].DeletePartialMatch(prometheus.Labels{"chain_id": m.chainID})
	for p, w := range weights {
		m.Set("weight", w, index(p))
	}
}

// Pool records the number of transactions in the pool, and their total size in bytes.
func (m *Metrics) Pool(transactions int, bytes int64) {
	m.Set("pool_transactions", float64(transactions))
	m.Set("pool_bytes", float64(bytes))
}
