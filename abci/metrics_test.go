package abci_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// scrape returns the values that a registry exports, by name and labels; for a histogram its count.
func scrape(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "chain_id" {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			key := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// TestVerbsFeedMetrics drives an application through its verbs and reads the exported metrics.
func TestVerbsFeedMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	a, err := abci.New(abci.Options{Metrics: metrics.New(registry, apptest.ChainID), OwnKey: apptest.Identity(0).PubKey,
		ProposalWait: 30e6, StragglerWait: 1})
	require.NoError(t, err)
	p := apptest.Params(4)
	genesis, err := apptest.Genesis(4, p).Encode()
	require.NoError(t, err)
	_, err = a.InitChain(ctx, &abcitypes.RequestInitChain{ChainId: apptest.ChainID, InitialHeight: 1,
		AppStateBytes: genesis})
	require.NoError(t, err)
	require.Equal(t, 1.0, scrape(t, registry)["spdl_reputation{participant=3}"], "before the first block")

	check := func(raw []byte) uint32 {
		r, err := a.CheckTx(ctx, &abcitypes.RequestCheckTx{Tx: raw})
		require.NoError(t, err)
		return r.Code
	}
	s := apptest.State(4)
	commit := func(txs []*tx.Tx) {
		height := int64(s.Height + 1)
		var raws [][]byte
		for _, x := range txs {
			raws = append(raws, x.Raw)
		}
		r, err := a.ProcessProposal(ctx, &abcitypes.RequestProcessProposal{Height: height, Txs: raws})
		require.NoError(t, err)
		require.Equal(t, abcitypes.ResponseProcessProposal_ACCEPT, r.Status)
		_, err = a.FinalizeBlock(ctx, &abcitypes.RequestFinalizeBlock{Height: height, Txs: raws})
		require.NoError(t, err)
		_, err = a.Commit(ctx, &abcitypes.RequestCommit{})
		require.NoError(t, err)
		out, err := s.Execute(app.Block{Height: uint64(height), Txs: txs})
		require.NoError(t, err)
		s = out.State
	}
	for range 3 {
		block := apptest.Close(s, s.Height+1)
		for _, x := range block[1:] {
			require.Equal(t, abci.CodeOK, check(x.Raw))
		}
		_, err := a.Draft(block[0].Aggregate.Leader)
		require.NoError(t, err)
		commit(block)
	}
	commit(nil)
	pending := apptest.Gradient(s, 2)
	require.Equal(t, abci.CodeOK, check(pending.Raw))
	require.Equal(t, abci.CodeMalformed, check([]byte{1, 2, 3}))
	require.Equal(t, abci.CodeMalformed, check([]byte{1, 2, 3}))
	block := apptest.Close(s, s.Height+1)
	r, err := a.ProcessProposal(ctx, &abcitypes.RequestProcessProposal{Height: int64(s.Height + 1),
		Txs: [][]byte{block[1].Raw, block[0].Raw}})
	require.NoError(t, err)
	require.Equal(t, abcitypes.ResponseProcessProposal_REJECT, r.Status)

	got := scrape(t, registry)
	for key, want := range map[string]float64{
		"spdl_height{}":                      4,
		"spdl_participant_active{}":          1,
		"spdl_rounds_since_gradient{}":       0,
		"spdl_epoch{}":                       0,
		"spdl_round{}":                       3,
		"spdl_rounds_planned{}":              50,
		"spdl_finished{}":                    0,
		"spdl_participants{}":                4,
		"spdl_byzantine{}":                   1,
		"spdl_rounds_closed_total{}":         3,
		"spdl_gradients_included_total{}":    12,
		"spdl_view_changes_total{}":          0,
		"spdl_execute_seconds{}":             3,
		"spdl_rule_seconds{}":                3,
		"spdl_pool_transactions{}":           1,
		"spdl_pool_bytes{}":                  float64(len(pending.Raw)),
		"spdl_round_stage_seconds{stage=bc}": 3,
		"spdl_rejected_total{code=1,reason=malformed,verb=check_tx}":      2,
		"spdl_rejected_total{code=99,reason=block,verb=process_proposal}": 1,
	} {
		require.Contains(t, got, key)
		require.Equal(t, want, got[key], key)
	}
	for i := range 4 {
		require.Equal(t, float64(s.Participants[i].Reputation)/params.One,
			got[fmt.Sprintf("spdl_reputation{participant=%d}", i)])
		sum := got[fmt.Sprintf("spdl_contributions_total{participant=%d,selected=true}", i)] +
			got[fmt.Sprintf("spdl_contributions_total{participant=%d,selected=false}", i)]
		require.Equal(t, 3.0, sum)
	}
	require.Greater(t, got["spdl_round_opened_timestamp_seconds{}"], 1.7e9)
	require.NotContains(t, got, "spdl_epsilon_spent{participant=0}", "no guarantee, no figure")
}

// TestWeights: a gradient that is not in the last closed round has no weight.
func TestWeights(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry, "c")
	m.Weigh(map[uint32]float64{0: 1, 3: 0.25})
	require.Equal(t, 0.25, scrape(t, registry)["spdl_weight{participant=3}"])
	m.Weigh(map[uint32]float64{0: 0.5})
	got := scrape(t, registry)
	require.Equal(t, 0.5, got["spdl_weight{participant=0}"])
	require.NotContains(t, got, "spdl_weight{participant=3}")
}

// TestParticipantsGo: a participant that left has no gauge, so the number of gauges is bounded by
// the consortium's size.
func TestParticipantsGo(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry, "c")
	epsilon, left := 0.5, uint64(7)
	m.State(nil, []metrics.Standing{{Participant: 0, Reputation: 1}, {Participant: 1, Reputation: 0.5,
		Epsilon: &epsilon, Left: &left}})
	got := scrape(t, registry)
	require.Equal(t, 0.5, got["spdl_epsilon_spent{participant=1}"])
	require.Equal(t, 7.0, got["spdl_participations_left{participant=1}"])
	m.State(nil, []metrics.Standing{{Participant: 0, Reputation: 1}})
	got = scrape(t, registry)
	require.Contains(t, got, "spdl_reputation{participant=0}")
	for key := range got {
		require.NotContains(t, key, "participant=1")
	}
}

// TestNodesOfOneProcess: the nodes of one process share the registry without a panic.
func TestNodesOfOneProcess(t *testing.T) {
	registry := prometheus.NewRegistry()
	a, b := metrics.New(registry, "c"), metrics.New(registry, "c")
	a.Add("rejected_total", 1, metrics.VerbCheckTx, "1", "malformed")
	b.Add("rejected_total", 1, metrics.VerbCheckTx, "1", "malformed")
	require.Equal(t, 2.0, scrape(t, registry)["spdl_rejected_total{code=1,reason=malformed,verb=check_tx}"])
}

// TestOwnParticipant: rounds without the node's own participant are counted, and a round with the
// participant resets the count.
func TestOwnParticipant(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry, "c")
	require.NotContains(t, scrape(t, registry), "spdl_participant_active{}")
	for _, c := range []struct {
		included bool
		want     float64
	}{{false, 1}, {false, 2}, {true, 0}, {false, 1}} {
		m.OwnRound(c.included)
		require.Equal(t, c.want, scrape(t, registry)["spdl_rounds_since_gradient{}"])
	}
	for _, want := range []float64{1, 0} {
		m.Set("participant_active", want)
		got := scrape(t, registry)
		require.Contains(t, got, "spdl_participant_active{}")
		require.Equal(t, want, got["spdl_participant_active{}"])
	}
}

// TestNone: a node without metrics accepts all calls.
func TestNone(t *testing.T) {
	var m *metrics.Metrics
	m.State(map[string]float64{"height": 1}, nil)
	m.Set("height", 1)
	m.Add("rounds_closed_total", 1)
	m.Observe("rule_seconds", 1)
	m.RecordRoundClosing(1, 2, 3, 4, 5)
	m.Pool(1, 2)
	m.OwnRound(true)
	m.Gauge("disk_free_bytes", nil)
	m.PeersRejected(nil, nil)
	m.Truth("worker_stopped", nil)
}

// A metric is registered: its name, its labels but chain_id, and its text.
type metric struct{ name, labels, help string }

// names collects the registered metrics, with or without values.
type names struct {
	prometheus.Registerer
	found map[string]metric
}

var (
	described = regexp.MustCompile(`fqName: "([^"]+)", help: (".*"), unit: ".*", constLabels: \{(.*)\}, ` +
		`variableLabels: \{(.*)\}\}`)
	labelName = regexp.MustCompile(`[a-z_]+`)
)

func (n names) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	close(descs)
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		help, err := strconv.Unquote(m[2])
		if err != nil {
			return err
		}
		var labels []string
		constant := regexp.MustCompile(`="[^"]*"`).ReplaceAllString(m[3], "")
		for _, label := range labelName.FindAllString(constant+","+m[4], -1) {
			if label != "chain_id" {
				labels = append(labels, "`"+label+"`")
			}
		}
		n.found[m[1]] = metric{m[1], strings.Join(labels, ", "), help}
	}
	return n.Registerer.Register(c)
}

// ours returns this application's metrics in the order of their names.
func ours() []metric {
	n := names{prometheus.NewRegistry(), map[string]metric{}}
	for name := range metrics.Asked {
		metrics.New(n, "c").Gauge(name, func() float64 { return 0 })
	}
	metrics.New(n, "c").PeersRejected(func() int64 { return 0 }, func() int64 { return 0 })
	return slices.SortedFunc(maps.Values(n.found), func(a, b metric) int { return strings.Compare(a.name, b.name) })
}

func (n names) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := n.Register(c); err != nil {
			panic(err)
		}
	}
}

// TestDashboard: every metric of docs/grafana.json, docs/alerts.yml and docs/TROUBLESHOOTING.md is
// registered by this application or by CometBFT, and the dashboard has every metric of this application.
func TestDashboard(t *testing.T) {
	comet := names{prometheus.NewRegistry(), map[string]metric{}}
	has := func(name string) bool {
		_, cometHas := comet.found[name]
		return cometHas || slices.ContainsFunc(ours(), func(m metric) bool { return m.name == name })
	}
	before := prometheus.DefaultRegisterer
	prometheus.DefaultRegisterer = comet // the registry that go-kit's constructors use
	defer func() { prometheus.DefaultRegisterer = before }()
	c := config.DefaultInstrumentationConfig()
	c.Prometheus = true
	cmtnode.DefaultMetricsProvider(c)("c")
	require.Contains(t, comet.found, "cometbft_consensus_height")

	dashboard, err := os.ReadFile("../docs/grafana.json")
	require.NoError(t, err)
	var parsed struct {
		Panels []struct {
			ID          int    `json:"id"`
			Title       string `json:"title"`
			Description string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(dashboard, &parsed))
	ids := map[int]bool{}
	for _, p := range parsed.Panels {
		require.False(t, ids[p.ID], "panel id %d twice", p.ID)
		ids[p.ID] = true
		require.NotEmpty(t, p.Targets, p.Title)
		require.NotEmpty(t, p.Description, p.Title)
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for _, target := range p.Targets {
			require.Equal(t, strings.Count(target.Expr, "("), strings.Count(target.Expr, ")"), target.Expr)
			require.Regexp(t, `(spdl|cometbft)_`, target.Expr)
		}
	}
	manual, err := os.ReadFile("../docs/TROUBLESHOOTING.md")
	require.NoError(t, err)
	rules, err := os.ReadFile("../docs/alerts.yml")
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(rules), "- alert: "), strings.Count(string(rules), "runbook_url: https://"),
		"each alert has a runbook")
	for _, m := range ours() {
		require.Regexp(t, regexp.QuoteMeta(m.name)+`(_bucket)?\{`, string(dashboard),
			"the dashboard shows every metric of ours")
	}
	named := regexp.MustCompile(`\b(?:spdl|cometbft)_[a-z0-9_]+`)
	for file, text := range map[string]string{"grafana.json": string(dashboard), "alerts.yml": string(rules),
		"TROUBLESHOOTING.md": string(manual)} {
		for _, name := range named.FindAllString(text, -1) {
			base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			require.True(t, has(base) || has(name), "%s names %s, which nobody registers", file, name)
		}
	}
}
