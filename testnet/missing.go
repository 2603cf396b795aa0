package testnet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/printable"
)

// Missed is a participant without a gradient in rounds of the run, or whose trainer failed.
type Missed struct {
	Participant uint32 `json:"participant"`
	Rounds      int    `json:"rounds"`
	Late        bool   `json:"late,omitempty"`   // it has been late in rounds that waited for it
	Reason      string `json:"reason,omitempty"` // why its trainer failed for the first time
}

// missing counts the gradients that the rounds of a run lack.
type missing map[uint32]Missed

// nodeLog is a node's log, with its size at the beginning of a run.
type nodeLog struct {
	path string
	from int64
}

// count adds a round. It warns once of each trainer that failed. The text that it returns names those that fail.
func (r *Reporter) count(x Round) string {
	if r.missing == nil {
		r.missing = missing{}
	}
	if x.Unmeasured != "" && !r.unmeasured && !x.Past {
		r.unmeasured = true
		r.Warn(fmt.Sprintf("the accuracy after round %d was not measured, as the run's own trainer fails: %s; spdl-lab "+
			"report measures it again", x.Round, strings.TrimPrefix(x.Unmeasured, "trainer failed: ")))
	}
	fails := map[uint32]string{}
	for _, p := range slices.Sorted(maps.Keys(r.logs)) {
		why, isLast := failureIn(r.logs[p])
		if isLast {
			fails[p] = " (its trainer fails)"
		}
		if why != "" && r.missing[p].Reason == "" && !x.Past {
			r.Warn(fmt.Sprintf("the trainer of participant %d fails: %s", p, strings.TrimPrefix(why, "trainer failed: ")))
			r.missing[p] = Missed{p, r.missing[p].Rounds, r.missing[p].Late, why}
		}
	}
	var names []string
	for _, p := range x.Missing {
		m := r.missing[p]
		r.missing[p] = Missed{p, m.Rounds + 1, m.Late || slices.Contains(x.Late, p), m.Reason}
		names = append(names, fmt.Sprint(p, fails[p]))
	}
	if len(names) == 0 {
		return ""
	}
	return "  missing " + listed(names)
}

// failed matches a line of a worker's log about a trainer that gave no gradient, and captures the reason.
var failed = regexp.MustCompile(`nothing spent: (?:no gradient: )?(.*?) +module=worker|` +
	`the trainer has not started, it is tried again.* err="?(.*?)"? after=`)

// failureIn returns why a node's worker made no gradient, and whether that was its last attempt, by the newest part of
// the node's log. It is "" if each attempt made one, and without a log, as in this process.
func failureIn(log nodeLog) (why string, isLast bool) {
	const newest = 1 << 20 // bytes: a round reads no more, however long the net runs
	f, err := os.Open(log.path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	size, _ := f.Seek(0, io.SeekEnd)
	text, _ := io.ReadAll(io.NewSectionReader(f, max(log.from, size-newest), newest))
	for line := range strings.Lines(string(text)) {
		m := failed.FindStringSubmatch(line)
		// of a failure, a pause or a round that was missed follows
		follows := strings.Contains(line, "it starts again after a pause") ||
			strings.Contains(line, "closed while the trainer computed")
		if strings.Contains(line, worker.Computed) {
			isLast = false
		} else if m != nil && !follows {
			why, isLast = printable.Line(m[1]+m[2]), true
		}
	}
	return why, isLast
}

// Standstill says what keeps participants from their gradients, by the nodes' logs or the nodes themselves, each with
// "; " behind it. If rounds close and the run is behind with its report, of told rounds until now, it says that. It
// returns an error if more trainers fail than rounds can do without.
func (n *Net) Standstill(ctx context.Context, told uint64) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lost, fails := 0, 0
	for i, node := range n.Nodes[:n.Manifest.Validators] {
		if why, isLast := failureIn(nodeLog{path: node.LogFile()}); isLast {
			said += fmt.Sprintf("participant %d makes no gradient: %s; ", i, why)
			fails++
		} else if n.Manifest.attack(i) == "silent" {
			lost++
		} else if c, err := client.New(node.RPC); err == nil {
			s, err := c.Status(ctx)
			if err == nil && s.Round > told+1 {
				return fmt.Sprintf("round %d is open, and the accuracy after round %d is being measured, which delays the "+
					"lines (--no-eval leaves it out); ", s.Round, told), nil
			} else if err == nil && s.Home != nil && s.Home.Step != "" {
				said += fmt.Sprintf("node %d: %s; ", i, s.Home.Step)
			}
		}
	}
	if f := int(n.Genesis.Params.Rule.Byzantine); fails > 0 && fails+lost > f {
		return "", fmt.Errorf("no round can close any more, as rounds do without %d gradients: %sthe log is %s", f, said,
			n.Nodes[0].LogFile())
	}
	return said, nil
}

// all returns those that missed a round, those with the most rounds first.
func (m missing) all() []Missed {
	return slices.SortedFunc(maps.Values(m), func(a, b Missed) int {
		return cmp.Or(b.Rounds-a.Rounds, cmp.Compare(a.Participant, b.Participant))
	})
}

// listed joins texts, up to the eighth.
func listed(texts []string) string {
	const most = 8
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// missed formats who missed rounds, "" if nobody, and the remedy if a participant without an attack was late.
func (r *Reporter) missed(s Summary) string {
	if len(s.Missed) == 0 {
		return ""
	}
	late, texts, failures, text := false, []string(nil), map[string][]string{}, ""
	for _, x := range s.Missed {
		why := ""
		if kind := r.Manifest.attack(int(x.Participant)); kind != "" {
			why = " by its attack " + kind
		} else if x.Late && x.Reason == "" {
			why, late = ", as it was late", true
		}
		if x.Reason != "" {
			failures[x.Reason] = append(failures[x.Reason], fmt.Sprint(x.Participant))
		}
		if x.Rounds > 0 {
			texts = append(texts, fmt.Sprintf("participant %d in %d of %d rounds%s", x.Participant, x.Rounds, s.Rounds, why))
		}
	}
	if len(texts) > 0 {
		text = "gradients missing: " + listed(texts) + "\n"
	}
	for _, why := range slices.Sorted(maps.Keys(failures)) {
		slices.Sort(failures[why])
		text += fmt.Sprintf("trainers failed, and were tried again: those of %s: %s\n", listed(failures[why]),
			strings.TrimPrefix(why, "trainer failed: "))
	}
	if late {
		text += "if its training steps are slow: a net made with --patience 30s has rounds that wait so much longer for " +
			"them; spdl trainer check measures a step\n"
	}
	return text
}
