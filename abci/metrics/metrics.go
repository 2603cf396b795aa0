// Package metrics holds the application's Prometheus metrics, under the namespace spdl, in addition
// to CometBFT's metrics. The ABCI methods and the node update the metrics; no metric influences
// consensus. A nil *Metrics accepts all calls and records nothing.
package metrics

import (
	"errors"
	"strconv"
	"sync"
	"time"

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
	height, epoch, round, planned, finished, opened *prometheus.GaugeVec
	participants, byzantine, offences, budget       *prometheus.GaugeVec
	proposals, upgrade, resting                     *prometheus.GaugeVec
	rounds, views, included                         *prometheus.CounterVec
	rejected                                        *prometheus.CounterVec
	stage, execute, rule                            *prometheus.HistogramVec
	poolTxs, poolBytes                              *prometheus.GaugeVec
	reputation, epsilon, left, weight               *prometheus.GaugeVec
	contributions                                   *prometheus.CounterVec
	active, absent, silent                          *prometheus.GaugeVec
	clock, build                                    *prometheus.GaugeVec
	received, parts                                 *prometheus.CounterVec

	registry prometheus.Registerer
	chainID  string
	mu       sync.Mutex
	known    map[uint32]bool // the participants that have gauges
}

// New registers the metrics for a node of a chain, labelled with the chain's id. It reuses
// collectors that are already registered, so that the nodes of one process share them.
func New(r prometheus.Registerer, chainID string) *Metrics {
	m := &Metrics{registry: r, chainID: chainID, known: map[uint32]bool{}}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
			withChain(labels)))
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help},
			withChain(labels)))
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, 17), // 1 ms to 65 s
		}, withChain(labels)))
	}
	m.build = gauge("build_info", "1, labelled with the versions of the program, of its state machine and of CometBFT.",
		"version", "state_machine", "cometbft")
	m.height = gauge("height", "Height of the last committed block.")
	m.epoch = gauge("epoch", "The running epoch, from 0.")
	m.round = gauge("round", "The open round of the epoch, from 0; equal to rounds_planned when all are closed.")
	m.planned = gauge("rounds_planned", "Rounds of the running epoch.")
	m.finished = gauge("finished", "1 when the epoch's training is over, else 0.")
	m.opened = gauge("round_opened_timestamp_seconds", "When this node saw the open round begin, in Unix time.")
	m.clock = gauge("clock_offset_seconds", "How far this host's clock is ahead of the median of its members' and "+
		"persistent peers', below 0 behind; 0 with fewer than three of them.")
	m.participants = gauge("participants", "Active participants, N.")
	m.resting = gauge("participants_resting", "Active participants for which rounds do not wait, because they missed "+
		"rounds.")
	m.byzantine = gauge("byzantine", "Byzantine participants that the rule withstands now, f.")
	m.offences = gauge("offences", "Proven offences: equivocations and double votes.")
	m.proposals = gauge("proposals_open", "Proposals that await approvals or a round boundary.")
	m.upgrade = gauge("upgrade_height", "First height of the planned upgrade; 0 if none is planned.")
	m.budget = gauge("epsilon_budget", "Epsilon that the epoch lets each participant spend; 0 for no budget.")
	m.rounds = counter("rounds_closed_total", "Rounds that this node has seen closed since it started.")
	m.views = counter("view_changes_total", "Leaders passed over in closed rounds.")
	m.included = counter("gradients_included_total", "Gradients in closed rounds.")
	m.rejected = counter("rejected_total", "Transactions that check_tx rejected, and proposals that process_proposal "+
		"rejected, by result code.", "verb", "code", "reason")
	m.stage = histogram("round_stage_seconds", "Histogram of a round's stages on this node's clock: lgc local gradient "+
		"computation, ge gradient exchange, bc consensus. Stages that it did not see whole are left out.", "stage")
	m.execute = histogram("execute_seconds", "Histogram: judging a block that closes a round, with signatures, VRF "+
		"proofs, rule and state hash.")
	m.rule = histogram("rule_seconds", "Histogram: computing the aggregate of a round by the rule, where this "+
		"node's participant leads.")
	m.poolTxs = gauge("pool_transactions", "Transactions in the application's pool.")
	m.poolBytes = gauge("pool_bytes", "Bytes in the application's pool.")
	m.reputation = gauge("reputation", "Reputation of an active participant, within 0 and 1.", "participant")
	m.weight = gauge("weight", "Weight of a participant's gradient in the last closed round, 1 for an equal share; "+
		"absent without its gradient, and where the rule gives no weights.", "participant")
	m.epsilon = gauge("epsilon_spent", "Epsilon that an active participant's gradients have cost, by the ledger, "+
		"which cannot prove that noise was added; absent without a guarantee.", "participant")
	m.left = gauge("participations_left", "Gradients that an active participant's budget still pays for; absent "+
		"without a budget.", "participant")
	m.contributions = counter("contributions_total", "Gradients of a participant in closed rounds, since this "+
		"node started, and whether they entered Delta.", "participant", "selected")
	m.active = gauge("participant_active", "1 while this node's participant is active, 0 after it has left; absent "+
		"without a participant.")
	m.absent = gauge("rounds_since_gradient", "Closed rounds since the last one with a gradient of this node's "+
		"participant, since this node started; absent without a participant.")
	m.silent = gauge("blocks_since_vote", "Blocks since the last commit with a vote of this node's validator, since this "+
		"node started; absent without a validator.")
	for _, verb := range []string{VerbCheckTx, VerbProcessProposal} {
		m.rejected.WithLabelValues(chainID, verb, "0", "none") // creates the counter before the first rejection
	}
	m.received = counter("gossip_received_bytes_total", "Bytes of transactions that peers sent: new, known before, "+
		"refused; and of their announcement.", "what")
	for _, what := range []string{ReceivedNew, ReceivedKnown, ReceivedRefused, ReceivedAnnouncement} {
		m.received.WithLabelValues(chainID, what)
	}
	m.parts = counter("block_parts_total", "Parts of proposed blocks that this node rebuilt from its pool, or "+
		"requested from a peer because a transaction of the block had not reached it.", "how")
	for _, how := range []string{PartsRebuilt, PartsRequested} {
		m.parts.WithLabelValues(chainID, how)
	}
	m.rounds.WithLabelValues(chainID)
	m.views.WithLabelValues(chainID)
	m.included.WithLabelValues(chainID)
	return m
}

// Build records the versions of the running program.
func (m *Metrics) Build(version string, stateMachine uint64, cometbft string) {
	if m != nil {
		m.build.WithLabelValues(m.chainID, version, strconv.FormatUint(stateMachine, 10), cometbft).Set(1)
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

// AddReceived counts bytes of a kind that a peer sent.
func (m *Metrics) AddReceived(what string, bytes int) {
	if m != nil {
		m.received.WithLabelValues(m.chainID, what).Add(float64(bytes))
	}
}

// These are the values of the label how: the ways in which a node gets the parts of a proposed block.
const (
	PartsRebuilt   = "rebuilt"
	PartsRequested = "requested"
)

// BlockParts counts parts of a proposed block by the way in which the node got them.
func (m *Metrics) BlockParts(how string, parts int) {
	if m != nil {
		m.parts.WithLabelValues(m.chainID, how).Add(float64(parts))
	}
}

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

// Chain holds the part of the committed state that the metrics show.
type Chain struct {
	Height, Epoch, Round, Planned uint64
	Finished                      bool
	Participants, Byzantine       int
	Resting                       int // the number of active participants for which rounds do not wait
	Offences                      int
	Proposals                     int    // the number of open proposals
	Upgrade                       uint64 // the first height of the planned upgrade, 0 for none
	Budget                        float64
	Standings                     []Standing
}

// SetHeight records a committed height.
func (m *Metrics) SetHeight(height uint64) {
	if m == nil {
		return
	}
	m.height.WithLabelValues(m.chainID).Set(float64(height))
}

// State updates the metrics after the state has changed.
func (m *Metrics) State(c Chain) {
	if m == nil {
		return
	}
	set := func(g *prometheus.GaugeVec, x float64) { g.WithLabelValues(m.chainID).Set(x) }
	set(m.height, float64(c.Height))
	set(m.epoch, float64(c.Epoch))
	set(m.round, float64(c.Round))
	set(m.planned, float64(c.Planned))
	set(m.finished, 0)
	if c.Finished {
		set(m.finished, 1)
	}
	set(m.participants, float64(c.Participants))
	set(m.resting, float64(c.Resting))
	set(m.byzantine, float64(c.Byzantine))
	set(m.offences, float64(c.Offences))
	set(m.proposals, float64(c.Proposals))
	set(m.upgrade, float64(c.Upgrade))
	set(m.budget, c.Budget)
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := m.known
	m.known = make(map[uint32]bool, len(c.Standings))
	for _, s := range c.Standings {
		p := index(s.Participant)
		m.known[s.Participant] = true
		delete(gone, s.Participant)
		m.reputation.WithLabelValues(m.chainID, p).Set(s.Reputation)
		if s.Epsilon != nil {
			m.epsilon.WithLabelValues(m.chainID, p).Set(*s.Epsilon)
		}
		if s.Left != nil {
			m.left.WithLabelValues(m.chainID, p).Set(float64(*s.Left))
		}
	}
	for p := range gone {
		for _, g := range []*prometheus.GaugeVec{m.reputation, m.epsilon, m.left, m.weight} {
			g.DeleteLabelValues(m.chainID, index(p))
		}
	}
}

func index(p uint32) string { return strconv.FormatUint(uint64(p), 10) }

// RecordRoundOpening records the time at which this node saw a round open.
func (m *Metrics) RecordRoundOpening(t time.Time) {
	if m == nil {
		return
	}
	m.opened.WithLabelValues(m.chainID).Set(float64(t.UnixMilli()) / 1000)
}

// ClockOffset records the node's clock minus the median of the peers' clocks.
func (m *Metrics) ClockOffset(ahead time.Duration) {
	if m == nil {
		return
	}
	m.clock.WithLabelValues(m.chainID).Set(ahead.Seconds())
}

// RecordRoundClosing records a closed round: the number of leaders that were passed over, the
// number of included gradients, and three times in milliseconds, 0 if unknown. lgc is the time of
// local gradient computation, ge the time of the gradient exchange, and bc the time of consensus.
func (m *Metrics) RecordRoundClosing(passedOver, included int, lgc, ge, bc float64) {
	if m == nil {
		return
	}
	m.rounds.WithLabelValues(m.chainID).Inc()
	m.views.WithLabelValues(m.chainID).Add(float64(passedOver))
	m.included.WithLabelValues(m.chainID).Add(float64(included))
	for _, s := range []struct {
		name string
		ms   float64
	}{{stageLGC, lgc}, {stageGE, ge}, {stageBC, bc}} {
		if s.ms > 0 {
			m.stage.WithLabelValues(m.chainID, s.name).Observe(s.ms / 1000)
		}
	}
}

// SetActive sets whether this node's participant is active.
func (m *Metrics) SetActive(active bool) {
	if m == nil {
		return
	}
	m.active.WithLabelValues(m.chainID).Set(0)
	if active {
		m.active.WithLabelValues(m.chainID).Set(1)
	}
}

// OwnRound updates, after a closed round, the number of rounds since the last gradient of this
// node's participant. hasGradient tells whether the closed round has one.
func (m *Metrics) OwnRound(hasGradient bool) {
	if m == nil {
		return
	}
	m.absent.WithLabelValues(m.chainID).Inc()
	if hasGradient {
		m.absent.WithLabelValues(m.chainID).Set(0)
	}
}

// BlocksSinceVote sets the number of blocks since the last commit with a vote of this node's validator.
func (m *Metrics) BlocksSinceVote(blocks int64) {
	if m == nil {
		return
	}
	m.silent.WithLabelValues(m.chainID).Set(float64(blocks))
}

// CountContribution records one gradient of a closed round.
func (m *Metrics) CountContribution(participant uint32, selected bool) {
	if m == nil {
		return
	}
	m.contributions.WithLabelValues(m.chainID, index(participant), strconv.FormatBool(selected)).Inc()
}

// Weigh records the weights of a closed round's gradients, by participant, and forgets those of the round before.
func (m *Metrics) Weigh(weights map[uint32]float64) {
	if m == nil {
		return
	}
	m.weight.DeletePartialMatch(prometheus.Labels{"chain_id": m.chainID})
	for p, w := range weights {
		m.weight.WithLabelValues(m.chainID, index(p)).Set(w)
	}
}

// CountRejection counts a rejection, by the ABCI method, the result code and the code's name.
func (m *Metrics) CountRejection(verb string, code uint32, reason string) {
	if m == nil {
		return
	}
	m.rejected.WithLabelValues(m.chainID, verb, index(code), reason).Inc()
}

// ObserveExecution records the time that the execution of a block with a round took.
func (m *Metrics) ObserveExecution(d time.Duration) {
	if m == nil {
		return
	}
	m.execute.WithLabelValues(m.chainID).Observe(d.Seconds())
}

// ObserveAggregation records the time that the computation of a round's aggregate took.
func (m *Metrics) ObserveAggregation(d time.Duration) {
	if m == nil {
		return
	}
	m.rule.WithLabelValues(m.chainID).Observe(d.Seconds())
}

// Pool records the number of transactions in the pool, and their total size in bytes.
func (m *Metrics) Pool(transactions int, bytes int64) {
	if m == nil {
		return
	}
	m.poolTxs.WithLabelValues(m.chainID).Set(float64(transactions))
	m.poolBytes.WithLabelValues(m.chainID).Set(float64(bytes))
}
