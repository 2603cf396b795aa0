package testnet

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy/accountant"
)

// Summary is the last line of a run.
type Summary struct {
	Type         string   `json:"type"` // "summary"
	Rounds       int      `json:"rounds"`
	Heights      uint64   `json:"heights"`       // blocks up to the one that closed the last round
	TestAccuracy *float64 `json:"test_accuracy"` // after the last round
	Tested       int      `json:"test_examples,omitempty"`
	// Measures are those of the last round.
	Measures  *evaluate.Measures `json:"test_measures,omitempty"`
	Epsilon   *float64           `json:"epsilon"`
	TestChain bool               `json:"test_chain,omitempty"` // the noise may be known, so epsilon is no guarantee
	Wall      float64            `json:"wall_s"`
	PeakRSS   int64              `json:"peak_rss_bytes"` // sum over the nodes of each one's peak
	// CPU is each node's mean CPU time per round, in seconds, from the second round of the run on;
	// only for nodes that are processes.
	CPU        []float64 `json:"cpu_s,omitempty"`
	WorkersCPU float64   `json:"workers_cpu_s,omitempty"` // of all participants without a node together
	Missed     []Missed  `json:"missed,omitempty"`
}

// Reporter prints the rounds of a run on out, one line each as text or JSON. On a terminal it also
// draws a progress bar on progress.
type Reporter struct {
	Out      io.Writer
	Progress io.Writer // nil for none
	JSON     bool
	Rounds   uint64
	Delta    float64      // of the budget
	Model    params.Model // of a table, text has what stands beside the accuracy in place of the error
	// TestChain says that the noise may come from a known seed.
	TestChain bool
	Manifest  Manifest // whose attacks are the reason for gradients that are missing
	// CPU returns the CPU time that the nodes and the workers without a node have used; nil for none.
	CPU func() (nodes []time.Duration, workers time.Duration)

	Warn func(string) // takes what is said once; nil for nothing

	logs       map[uint32]nodeLog // of nodes with a trainer, by participant
	spending   spending
	unmeasured bool // whether it was said that an accuracy was not measured
	missing    missing
	start      time.Time
	Last       Round // that was reported
	Count      int   // of the reported rounds
	past       int   // rounds that were closed before this run, until resumed prints them
	before     int   // rounds that were closed before this run
}

// Running is the first line of a run: the addresses of its nodes.
type Running struct {
	Type     string `json:"type"` // "net"
	ChainID  string `json:"chain_id"`
	Nodes    []Node `json:"nodes"`
	Explorer string `json:"explorer,omitempty"` // http://127.0.0.1:port
}

// Begin starts the clock, and prints the addresses of the net and the heading.
func (r *Reporter) Begin(x Running) error {
	r.start, r.spending.used, r.logs = time.Now(), r.CPU, map[uint32]nodeLog{}
	if r.Warn == nil {
		r.Warn = func(string) {}
	}
	for i := 0; i < len(x.Nodes) && len(r.Manifest.Trainer) > 0; i++ {
		log := nodeLog{path: x.Nodes[i].LogFile()}
		if info, err := os.Stat(log.path); err == nil {
			log.from = info.Size()
		}
		r.logs[uint32(i)] = log
	}
	if r.JSON {
		x.Type = "net"
		return json.NewEncoder(r.Out).Encode(x)
	}
	for i, node := range x.Nodes {
		fmt.Fprintf(r.Out, "node %d  %s\n", i, node.RPC)
	}
	if x.Explorer != "" {
		fmt.Fprintf(r.Out, "explorer  %s\n", x.Explorer)
	}
	_, err := fmt.Fprintf(r.Out, "%5s %6s %6s %4s %8s %s %8s %9s %9s %9s\n",
		"round", "height", "leader", "view", "included", r.results(nil), "epsilon", "T_LGC ms", "T_GE ms", "T_BC ms")
	r.bar()
	return err
}

// Round prints a closed round. As text, it prints one line for all rounds that were closed before this run.
func (r *Reporter) Round(x Round) error {
	r.Last = x
	r.Count++
	r.clear()
	missing := r.count(x)
	if x.Past {
		r.past++
		r.before++
	} else {
		r.spending.closed()
	}
	var err error
	switch {
	case r.JSON:
		err = json.NewEncoder(r.Out).Encode(x)
	case x.Past: // no longer measured; resumed prints their number
	default:
		r.resumed()
		if x.Epoch > 0 && x.Round == 0 {
			fmt.Fprintf(r.Out, "epoch %d\n", x.Epoch)
		}
		_, err = fmt.Fprintf(r.Out, "%5d %6d %6d %4d %8d %s %8s %9s %9s %9s%s\n",
			x.Round, x.Height, x.Leader, x.View, x.Included, r.results(&x), spent(x.Epsilon), format("%.1f", x.LGC),
			format("%.1f", x.GE), format("%.1f", x.BC), missing)
	}
	r.bar()
	return err
}

// resumed prints, once, the number of rounds that were closed before this run.
func (r *Reporter) resumed() {
	if r.past > 0 {
		fmt.Fprintf(r.Out, "rounds closed before this run: %d\n", r.past)
		r.past = 0
	}
}

// End prints the summary.
func (r *Reporter) End(peakRSS int64) error {
	r.clear()
	s := Summary{
		Type: "summary", Rounds: r.Count, Heights: r.Last.Height, TestAccuracy: r.Last.TestAccuracy, Tested: r.Last.Tested,
		Measures: r.Last.Measures, Epsilon: r.Last.Epsilon, TestChain: r.TestChain,
		Wall: time.Since(r.start).Seconds(), PeakRSS: peakRSS, Missed: r.missing.all(),
	}
	s.CPU, s.WorkersCPU = r.spending.each()
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(s)
	}
	if r.past > 0 {
		fmt.Fprintln(r.Out, "the training of this net had finished before")
	}
	right, warnings := number(s.TestAccuracy), ""
	if s.Tested > 0 {
		right = fmt.Sprintf("%s on %d examples", right, s.Tested)
	}
	if m := s.Measures; m != nil && (r.Model.Table != nil || m.Majority >= 0.5) { // guessing alone looks like a model
		right += fmt.Sprintf(" (%s)", m)
		for _, w := range m.Warnings {
			warnings += "warning: " + w + "\n"
		}
	}
	_, err := fmt.Fprintf(r.Out, "\n%d rounds in %d blocks, test accuracy %s, %s%s\n%s%s%s", s.Rounds, s.Heights, right,
		r.privacy(s.Epsilon), r.cost(s), warnings, r.missed(s), s.cpu())
	return err
}

// cost formats time and memory of this run, "" if all rounds were closed before it.
func (r *Reporter) cost(s Summary) string {
	if r.before > 0 && r.before == r.Count {
		return ""
	}
	rounds := ""
	if r.before > 0 {
		rounds = fmt.Sprintf(" for the last %d", r.Count-r.before)
	}
	return fmt.Sprintf(", %.1f s%s, peak memory %.0f MiB over all nodes", s.Wall, rounds, float64(s.PeakRSS)/(1<<20))
}

// privacy formats the privacy loss of the run, or says that there is no guarantee.
func (r *Reporter) privacy(epsilon *float64) string {
	if epsilon == nil {
		return "NO DP GUARANTEE"
	}
	if r.TestChain {
		return fmt.Sprintf("epsilon %s at delta %g on paper (TEST CHAIN ONLY: known noise, nothing is private)",
			spent(epsilon), r.Delta)
	}
	return fmt.Sprintf("epsilon %s at delta %g", spent(epsilon), r.Delta)
}

func spent(epsilon *float64) string {
	if epsilon == nil {
		return "-"
	}
	return accountant.Text(*epsilon)
}

// number formats a share.
func number(x *float64) string { return format("%.4f", x) }

// format formats a number, "-" where it is unknown.
func format(as string, x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf(as, *x)
}

// results formats what a round's model achieves, or with nil the names of these columns: accuracy and error; of a
// table accuracy and that of guessing, of two classes AUC and Brier score, and the recall that Measures has.
func (r *Reporter) results(x *Round) string {
	names, values := []string{"accuracy", "error"}, make([]*float64, 5)
	if x != nil {
		if values[0] = x.TestAccuracy; x.TestAccuracy != nil {
			wrong := 1 - *x.TestAccuracy
			values[1] = &wrong
		}
	}
	if r.Model.Table != nil {
		names = []string{"accuracy", "guessing", "recall"}
		if r.Model.Classes == 2 {
			names = []string{"accuracy", "guessing", "recall", "AUC", "Brier"}
		}
		if values[1] = nil; x != nil && x.Measures != nil {
			values[1], values[2] = &x.Measures.Majority, &x.Measures.Recall
			if q := x.Measures.Quality; q != nil {
				values[3], values[4] = &q.AUC, &q.Brier
			}
		}
	}
	for i := range names {
		if x != nil {
			names[i] = number(values[i])
		}
		names[i] = fmt.Sprintf("%8s", names[i])
	}
	return strings.Join(names, " ")
}

const barWidth = 30

func (r *Reporter) bar() {
	if r.Progress == nil || r.Rounds == 0 {
		return
	}
	done := barWidth * r.Count / int(r.Rounds)
	left := "starting"
	if r.Count > 0 {
		each := time.Since(r.start) / time.Duration(r.Count)
		left = fmt.Sprintf("%s left", (each * time.Duration(int(r.Rounds)-r.Count)).Round(time.Second))
	}
	fmt.Fprintf(r.Progress, "\r[%s%s] %d/%d  %s", strings.Repeat("#", done), strings.Repeat(".", barWidth-done), r.Count,
		r.Rounds, left)
}

func (r *Reporter) clear() {
	if r.Progress != nil {
		fmt.Fprint(r.Progress, "\r\x1b[K")
	}
}
