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

// Missed is a participant without a gradient in rounds of the run.
type Missed struct {
	Participant uint32 `json:"participant"`
	Rounds      int    `json:"rounds"`
	Late        bool   `json:"late,omitempty"`   // it has been late in rounds that waited for it
	Reason      string `json:"reason,omitempty"` // why its trainer gave no gradient (failureIn)
}

// missing counts the gradients that the rounds of a run lack.
type missing map[uint32]Missed

// count adds a round. It warns of each trainer that fails, once, and names those in the text that it returns.
func (r *Reporter) count(x Round) string {
	if r.missing == nil {
		r.missing = missing{}
	}
	var names []string
	for _, p := range x.Missing {
		m, fails := r.missing[p], ""
		if why := failureIn(r.logs[p]); why != "" && !x.Past {
			if fails = " (its trainer fails)"; m.Reason == "" {
				r.Warn(fmt.Sprintf("participant %d makes no gradient: %s", p, why))
			}
			m.Reason = why
		}
		r.missing[p] = Missed{p, m.Rounds + 1, m.Late || slices.Contains(x.Late, p), m.Reason}
		names = append(names, fmt.Sprint(p, fails))
	}
	if len(names) == 0 {
		return ""
	}
	return "  missing " + listed(names)
}

// failed matches a line of a worker's log about a trainer that gave no gradient, and captures the reason.
var failed = regexp.MustCompile(`nothing spent: (?:no gradient: )?(.*?) +module=worker|` +
	`the trainer has not started, it is tried again.* err="?(.*?)"? after=`)

// failureIn returns why a node's worker made no gradient when it tried last, by the node's log. It is "" if the worker
// made one or has not tried, and without a log, as in this process.
func failureIn(path string) (why string) {
	const newest = 1 << 20 // bytes: a round reads no more, however long the net runs
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	_, _ = f.Seek(-newest, io.SeekEnd) // a shorter log is read from its beginning
	text, _ := io.ReadAll(f)
	for line := range strings.Lines(string(text)) {
		m := failed.FindStringSubmatch(line)
		// of a failure, a pause or a round that was missed follows
		follows := strings.Contains(line, "it starts again after a pause") ||
			strings.Contains(line, "closed while the trainer computed")
		if strings.Contains(line, worker.Computed) {
			why = ""
		} else if m != nil && !follows {
			why = printable.Line(m[1] + m[2])
		}
	}
	return why
}

// Standstill says what keeps participants from their gradients, by the nodes' logs or the nodes themselves, each with
// "; " behind it. It returns an error if more trainers fail than rounds can do without.
func (n *Net) Standstill(ctx context.Context) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lost, fails := 0, 0
	for i, node := range n.Nodes[:n.Manifest.Validators] {
		if why := failureIn(node.LogFile()); why != "" {
			said += fmt.Sprintf("participant %d makes no gradient: %s; ", i, why)
			fails++
		} else if n.Manifest.attack(i) == "silent" {
			lost++
		} else if c, err := client.New(node.RPC); err == nil {
			if s, err := c.Status(ctx); err == nil && s.Home != nil && s.Home.Step != "" {
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
	late, texts := false, []string(nil)
	for _, x := range s.Missed {
		why := ""
		if kind := r.Manifest.attack(int(x.Participant)); kind != "" {
			why = " by its attack " + kind
		} else if x.Reason != "" {
			why = ", as it made none: " + x.Reason
		} else if x.Late {
			why, late = ", as it was late", true
		}
		texts = append(texts, fmt.Sprintf("participant %d in %d of %d rounds%s", x.Participant, x.Rounds, s.Rounds, why))
	}
	text := "gradients missing: " + listed(texts) + "\n"
	if late {
		text += "if its training steps are slow: a net made with --patience 30s has rounds that wait so much longer for " +
			"them; spdl trainer check measures a step\n"
	}
	return text
}
