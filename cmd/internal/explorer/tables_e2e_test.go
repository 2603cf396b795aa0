//go:build e2e

package explorer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet"
)

// visits writes a table of hospital visits, of which one in eight ends with death, and returns its file.
func visits(t *testing.T, rows int) string {
	t.Helper()
	random, text := rand.New(rand.NewPCG(11, 12)), strings.Builder{}
	text.WriteString("age,ejection_fraction,systolic_blood_pressure,outcome\n")
	for range rows {
		age, ef, pressure := 67+11*random.NormFloat64(), 41+10*random.NormFloat64(), 128+18*random.NormFloat64()
		outcome := "alive"
		if random.Float64() < 1/(1+math.Exp(2.5-0.06*(age-67)+0.07*(ef-41)+0.01*(pressure-128))) {
			outcome = "dead"
		}
		fmt.Fprintf(&text, "%.1f,%.0f,%.0f,%s\n", age, ef, pressure, outcome)
	}
	path := filepath.Join(t.TempDir(), "visits.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// trained runs a net of four on a table to its end, and returns a node's RPC.
func trained(t *testing.T, data string) string {
	t.Helper()
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Validators: 4, Rounds: 30, Seed: 7, Memory: true,
		Data: data, Label: "outcome", Force: true})
	require.NoError(t, err)
	return run(t, n, nil)
}

// TestTablesInABrowser: the pages of a table's chain, on a telephone and a desk, light and dark, are sound by axe,
// scroll nowhere sideways, and break no policy; the menu of a telephone opens.
func TestTablesInABrowser(t *testing.T) {
	dir, err := os.MkdirTemp("", "spdl-explorer-tables-")
	require.NoError(t, err)
	b, data := chromium(t), visits(t, 3000)
	base := serve(t, trained(t, data), data)
	b.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.wrong=[];addEventListener(` +
		`"securitypolicyviolation",e=>wrong.push(e.violatedDirective+" "+e.blockedURI));addEventListener("error",` +
		`e=>wrong.push(String(e.message)));`})
	require.Eventually(t, func() bool {
		r, err := http.Get(base + "/round/0/29")
		return err == nil && r.Body.Close() == nil && r.StatusCode == 200
	}, patience, 100*time.Millisecond)
	b.open(base + "/gain")
	require.Equal(t, 5.0, b.eval("document.querySelectorAll('table.gain tbody tr').length"), "four models, and the rate")
	b.open(base + "/model")
	b.until("document.querySelectorAll('.matrix td').length === 4")
	require.Equal(t, 3.0, b.eval("document.querySelectorAll('.coefficients tbody tr').length"))
	require.LessOrEqual(t, b.eval("parseFloat(getComputedStyle(document.querySelector('.matrix td')).fontSize)"), 16.0)
	axe, err := os.ReadFile("testdata/axe.min.js")
	require.NoError(t, err)
	for _, width := range []int{390, 1280} {
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 1800, "deviceScaleFactor": 1,
			"mobile": width < 600})
		for _, scheme := range []string{"light", "dark"} {
			b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme",
				"value": scheme}}})
			for name, path := range map[string]string{"home": "/", "model": "/model", "column": "/model?column=2#effect",
				"gain": "/gain", "params": "/params", "round": "/round/0/29"} {
				b.open(base + path)
				at := fmt.Sprintf("%s-%d-%s", name, width, scheme)
				require.Equal(t, "[]", b.eval("JSON.stringify(window.wrong)"), at)
				require.Equal(t, "[]", b.eval(`JSON.stringify([document.documentElement, ...document.querySelectorAll(".scroll")]`+
					`.filter(e => e.scrollWidth > Math.max(e.clientWidth, 1)).map(e => [e.tagName, e.ariaLabel, e.scrollWidth]))`), at)
				if b.eval(string(axe) + ";1"); width < 600 {
					b.eval("document.querySelector('.menu summary').click()")
					require.Equal(t, true, b.eval("document.querySelector('.menu').open"))
				}
				require.Equal(t, "[]", fmt.Sprint(b.eval(`axe.run(document).then(r => JSON.stringify(r.violations.map(v => v.id + `+
					`": " + v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary).slice(0, 2).join(" | "))))`)), at)
				b.shot(filepath.Join(dir, at+".png"))
			}
		}
	}
	others, err := http.NewRequest(http.MethodGet, base+"/gain", nil)
	require.NoError(t, err)
	others.Header.Set("X-Forwarded-For", "192.0.2.7")
	r, err := http.DefaultClient.Do(others)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Equal(t, http.StatusNotFound, r.StatusCode)
}
