package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Examined has the findings about a home, or about the folder of several.
type Examined struct {
	Dir      string    `json:"home"`
	Findings []Finding `json:"findings"`
	Home     *Home     `json:"-"`
}

// Net examines the homes of a folder together: which run, whether the chain stands, and whether two have the same key.
func Net(ctx context.Context, homes []Examined) Finding {
	var stopped, hang, twice []string
	signers := 0 // their homes have no node
	stands, holders := false, map[string]string{}
	for _, e := range homes {
		h, name := e.Home, filepath.Base(e.Dir)
		if h.isSigner() {
			signers++
		} else if h.Hangs {
			hang = append(hang, name)
		} else if !h.runs() {
			stopped = append(stopped, name)
		}
		if h.Invalid != nil {
			continue
		}
		for _, f := range e.Findings {
			stands = stands || f.Check == "last block" && f.Level == Fail
		}
		var keys []string // those that the home itself holds
		if _, participant := h.ownParticipant(ctx, nil); h.App.Worker.Signer == "" {
			keys = append(keys, string(participant))
		}
		if key, err := h.validatorKey(); err == nil && key != nil && h.Config.PrivValidatorListenAddr == "" {
			keys = append(keys, string(key.Bytes()))
		}
		for _, key := range keys {
			if other := holders[key]; key != "" && other != "" {
				twice = append(twice, other+" and "+name)
			}
			holders[key] = name
		}
	}
	f := ok("%d homes: %d run", len(homes), len(homes)-signers-len(stopped)-len(hang))
	if len(hang) > 0 {
		f = fail("end those that hang, and start them; the check databases names the process", "%s, %d hang (%s)", f.Found,
			len(hang), strings.Join(hang, ", "))
	}
	f.Found += fmt.Sprintf(", %d stopped", len(stopped))
	if len(stopped) > 0 {
		f.Found += " (" + strings.Join(stopped, ", ") + ")"
	}
	if stands {
		f = fail(cmp.Or(f.Remedy, "start those that are stopped; the check last block says who does not vote"),
			"%s: no block comes", f.Found)
	}
	if len(twice) > 0 {
		f = fail("run one of the two, and none on another host: two processes with one key sign twice", "%s; the same "+
			"participant's or validator's key: %s", f.Found, strings.Join(slices.Compact(twice), "; "))
	}
	f.Check = "net"
	return f
}
