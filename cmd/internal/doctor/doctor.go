// Package doctor examines the home of a node and its machine, whether the node runs or not. Each check is one function,
// in the file of its subject. A check finds one kind of problem, describes it in one line, and names the remedy.
// [Collect] makes the bundle for somebody who helps with the node.
package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Level is the severity of a finding.
type Level string

// These are the levels, the least severe first.
const (
	OK   Level = "ok"
	Skip Level = "skip" // the check does not apply, or cannot be made
	Warn Level = "warn"
	Fail Level = "fail" // the node cannot run as it should
)

// Finding is the result of a check.
type Finding struct {
	Check  string `json:"check"`
	Level  Level  `json:"level"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"` // for a warn or a fail
}

func ok(format string, values ...any) Finding {
	return Finding{Level: OK, Found: fmt.Sprintf(format, values...)}
}

func skip(format string, values ...any) Finding {
	return Finding{Level: Skip, Found: fmt.Sprintf(format, values...)}
}

func warn(remedy, format string, values ...any) Finding {
	return Finding{Level: Warn, Found: fmt.Sprintf(format, values...), Remedy: remedy}
}

func fail(remedy, format string, values ...any) Finding {
	return Finding{Level: Fail, Found: fmt.Sprintf(format, values...), Remedy: remedy}
}

// A check is a name, and the function that returns the finding.
type check struct {
	name string
	of   func(context.Context, *Home) Finding
}

// checks lists all checks, in the order of the answer. If the configuration or genesis cannot be
// read, one finding says so and the checks that need it are skipped.
var checks = []check{
	{"configuration", configuration},
	{"exposure", exposure},
	{"genesis", genesisFile},
	{"genesis of others", othersGenesis},
	{"program", program},
	{"keys", keys},
	{"databases", databaseLock},
	{"divergence", divergence},
	{"journal", journal},
	{"signer", participantSigner},
	{"validator signer", validatorSigner},
	{"validator", validator},
	{"consent", epochConsent},
	{"participant", participant},
	{"open round", openRound},
	{"ports", ports},
	{"peers", peers},
	{"last block", lastBlock},
	{"peer clocks", peerClocks},
	{"time sync", timeSync},
	{"disk", disk},
	{"descriptors", descriptors},
	{"kernel", kernel},
}

// Names lists the checks.
func Names() (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// Examine runs all checks, at once if the node runs. A stopped node's databases are opened by one check at a time.
func Examine(ctx context.Context, h *Home) []Finding {
	findings := make([]Finding, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { findings[i] = c.run(ctx, h) })
		if !h.runs() {
			wg.Wait()
		}
	}
	wg.Wait()
	return findings
}

// run runs one check.
func (c check) run(ctx context.Context, h *Home) (f Finding) {
	ctx, cancel := context.WithTimeout(ctx, 3*askTimeout)
	defer cancel()
	switch {
	case h.Invalid != nil && c.name != "configuration":
		f = skip("the configuration cannot be read")
	case h.isSigner() && !slices.Contains(ofSigner, c.name):
		f = skip("the home of a signer runs no node")
	default:
		f = c.of(ctx, h)
	}
	if c.name != "ports" && f.Remedy != "" && strings.Contains(f.Found, fs.ErrPermission.Error()) {
		f.Remedy = "run doctor as the node's user, as sudo -u spdl spdl doctor does"
	}
	f.Check = c.name
	return f
}

// Failed reports whether a check failed.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Fail })
}
