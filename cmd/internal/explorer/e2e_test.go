//go:build e2e

package explorer_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/explorer"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/attack"
)

// patience is how long a test waits for what must come: a limit for machines that
// are slow, or busy.
const patience = 2 * time.Minute

// hostile would set the title if it ran.
const hostile = `<img src=x onerror="document.title='hit';window.hit=1">`

// attacked starts a net of 7 whose participant 6 flips its gradients and leads
// wrongly, and whose participant 5 has a hostile name. It returns a node's RPC.
func attacked(t *testing.T, rounds uint64) string {
	t.Helper()
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Validators: 7, Rounds: rounds, Seed: 5,
		Memory: true, Rule: "nnm+trimmed-mean", Adjust: func(p *params.Params) {
			p.Privacy.NoiseMultiplier = 0.7
			p.Privacy.Epsilon = 200
			p.Grid.Step = worker.GridStep(p.Privacy)
		}})
	require.NoError(t, err)
	n.Genesis.Participants[5].Moniker = hostile
	n.Genesis.Participants[6].Moniker = "mallory"
	doc, err := home.NewGenesis(n.Manifest.ChainID, time.Now(), n.Genesis)
	require.NoError(t, err)
	for _, one := range n.Nodes {
		require.NoError(t, doc.SaveAs(filepath.Join(one.Home, "config", "genesis.json")))
	}
	wrong, flip := attack.Hooks("wrong-aggregate"), attack.Hooks("sign-flip")
	return run(t, n, map[int]node.Hooks{6: {Chain: func(chain worker.Chain, keys worker.Keys) (worker.Chain, error) {
		chain, err := flip.Chain(chain, keys)
		if err != nil {
			return nil, err
		}
		return wrong.Chain(chain, keys)
	}}})
}

// run starts the nodes of a net, with the hooks of some, and returns a node's RPC.
func run(t *testing.T, n *testnet.Net, hooks map[int]node.Hooks) string {
	t.Helper()
	var wg sync.WaitGroup
	running := make([]*node.Running, len(n.Nodes))
	for i, one := range n.Nodes {
		c, a, err := home.Load(one.Home)
		require.NoError(t, err)
		wg.Go(func() {
			r, err := node.Start(c, a, log.NewNopLogger(), hooks[i])
			if err != nil {
				t.Error(err)
				return
			}
			running[i] = r
		})
	}
	wg.Wait()
	t.Cleanup(func() {
		var wg sync.WaitGroup
		for _, r := range running {
			if r != nil {
				wg.Go(func() { _ = r.Stop() })
			}
		}
		wg.Wait()
	})
	require.False(t, t.Failed())
	return n.Nodes[0].RPC
}

// serve runs an explorer of a node, with data of its own if any are named.
func serve(t *testing.T, rpc, data string) string {
	t.Helper()
	s, err := explorer.Open(rpc, explorer.Options{APIConfig: home.APIConfig{Rate: 1000, Burst: 1000}, Own: data,
		Evaluator: home.EvaluatorOf(config.DefaultConfig(), home.WorkerConfig{Data: data})})
	require.NoError(t, err)
	l, err := explorer.Listen("tcp://127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	return "http://" + l.Addr().String()
}

// browser is a page of headless Chromium, over the DevTools protocol.
type browser struct {
	t  *testing.T
	ws *websocket.Conn
	id int
}

func chromium(t *testing.T) *browser {
	t.Helper()
	path := stage.Tool(t, "chromium")
	profile, err := os.MkdirTemp("", "spdl-chromium-")
	require.NoError(t, err)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--no-first-run", "--disable-dev-shm-usage",
		"--user-data-dir="+profile, "--remote-debugging-port=0", "--window-size=1280,1400", "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its children too: they write to the profile
		_ = cmd.Wait()
		require.Eventually(t, func() bool { return os.RemoveAll(profile) == nil }, patience, 50*time.Millisecond)
	})
	found := make(chan string, 1)
	go func() {
		var seen bytes.Buffer
		buf := make([]byte, 4096)
		for {
			k, err := stderr.Read(buf)
			seen.Write(buf[:k])
			if m := regexp.MustCompile(`ws://127\.0\.0\.1:(\d+)/`).FindStringSubmatch(seen.String()); m != nil {
				found <- m[1]
				_, _ = io.Copy(io.Discard, stderr)
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var port string
	select {
	case port = <-found:
	case <-time.After(patience):
		t.Fatal("chromium does not start")
	}
	page := ""
	require.Eventually(t, func() bool { // it listens before it has opened its page
		r, err := http.Get("http://127.0.0.1:" + port + "/json/list")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		var targets []struct {
			Type string `json:"type"`
			URL  string `json:"webSocketDebuggerUrl"`
		}
		if json.NewDecoder(r.Body).Decode(&targets) != nil {
			return false
		}
		for _, target := range targets {
			if target.Type == "page" {
				page = target.URL
			}
		}
		return page != ""
	}, patience, 50*time.Millisecond, "chromium has no page")
	ws, _, err := websocket.DefaultDialer.Dial(page, nil)
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	b := &browser{t: t, ws: ws}
	b.call("Page.enable", nil)
	return b
}

func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	result, fault := b.try(method, params)
	require.Empty(b.t, fault, string(fault))
	return result
}

// try is call for what may fail, as a question to a page that goes.
func (b *browser) try(method string, params map[string]any) (result, fault json.RawMessage) {
	b.t.Helper()
	b.id++
	if params == nil {
		params = map[string]any{}
	}
	require.NoError(b.t, b.ws.WriteJSON(map[string]any{"id": b.id, "method": method, "params": params}))
	require.NoError(b.t, b.ws.SetReadDeadline(time.Now().Add(patience)))
	for {
		var m struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		require.NoError(b.t, b.ws.ReadJSON(&m))
		if m.ID == b.id {
			return m.Result, m.Error
		}
	}
}

// eval runs an expression in the page, and waits for its promise.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	require.NoError(b.t, json.Unmarshal(b.call("Runtime.evaluate", map[string]any{"expression": expression,
		"returnByValue": true, "awaitPromise": true}), &r))
	require.Nil(b.t, r.ExceptionDetails, expression)
	return r.Result.Value
}

// until waits for an expression to be true, also of a page that comes yet.
func (b *browser) until(expression string) {
	b.t.Helper()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var r struct{ Result struct{ Value any } }
		result, fault := b.try("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
		if len(fault) == 0 && json.Unmarshal(result, &r) == nil && r.Result.Value == true {
			return
		}
		require.Less(b.t, time.Since(begin), patience, "never: %s", expression)
	}
}

// open goes to a page and waits for the whole of it. It goes by way of an empty page: the page before would answer
// until it is gone, and a URL that differs from its own by nothing but a fragment would load nothing.
func (b *browser) open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "about:blank"})
	b.until("location.href === 'about:blank'")
	require.NotContains(b.t, string(b.call("Page.navigate", map[string]any{"url": url})), "errorText")
	b.until("location.href !== 'about:blank' && document.readyState === 'complete'")
}

func (b *browser) shot(path string) {
	b.t.Helper()
	var r struct{ Data string }
	require.NoError(b.t, json.Unmarshal(b.call("Page.captureScreenshot", map[string]any{"format": "png"}), &r))
	data, err := base64.StdEncoding.DecodeString(r.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(path, data, 0o600))
	b.t.Log("screenshot", path)
}

// TestBrowser: a real net with an attacker, in a real browser.
func TestBrowser(t *testing.T) {
	dir, err := os.MkdirTemp("", "spdl-explorer-")
	require.NoError(t, err)
	b := chromium(t)
	base := serve(t, attacked(t, 1000), "") // it learns for longer than the browser takes to show it
	// What breaks the policy, or throws, is counted before anything of the page runs.
	b.call("Page.addScriptToEvaluateOnNewDocument",
		map[string]any{"source": `window.wrong=[];addEventListener("securitypolicyviolation",` +
			`e=>wrong.push(e.violatedDirective+" "+e.blockedURI));addEventListener("error",e=>wrong.push(String(e.message)));`})
	require.Eventually(t, func() bool {
		r, err := http.Get(base + "/")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == 200
	}, patience, 100*time.Millisecond)
	b.open(base + "/")

	// Live, without a reload: the mark on the window stays.
	b.eval("window.mark = 1")
	height := func() string { return fmt.Sprint(b.eval("document.getElementById('height').textContent")) }
	before := height()
	b.until("document.getElementById('height').textContent !== " + strconv.Quote(before))
	require.Equal(t, 1.0, b.eval("window.mark"))
	t.Log("height went from", before, "to", height(), "without a reload")
	// Without a proven offence the attacker is on watch or differs; nobody with an alarm stands before it.
	b.until("(document.querySelector('#standings tr[class^=alarm]')||{textContent: ''}).textContent.includes('mallory')")
	b.until("document.querySelectorAll('#rounds tbody tr').length === 10")
	b.open(base + "/") // draws the charts of all that is there
	b.until("document.querySelectorAll('figure polyline').length !== 0")
	b.shot(filepath.Join(dir, "home.png"))

	// The head of a column sorts, also by the keyboard, and an update keeps the order.
	b.eval("document.querySelector('#rounds thead th .sort').focus(); document.activeElement.click()")
	require.Equal(t, "ascending", b.eval("document.querySelector('#rounds thead th').getAttribute('aria-sort')"))
	first := "parseInt(document.querySelector('#rounds tbody th').textContent)"
	least := b.eval(first)
	b.eval("document.activeElement.blur()")
	b.until(fmt.Sprintf("%s > %v && document.querySelector('#rounds thead th').ariaSort === 'ascending'", first, least))
	require.Equal(t, 5.0, b.eval("document.querySelectorAll('#ticker span').length"))

	// The hostile name is text.
	require.Contains(t, b.eval("document.querySelector('#standings').textContent"), hostile)
	require.Equal(t, "undefined", b.eval("typeof window.hit"))

	// Search, as a person would: what is typed is completed.
	b.eval("document.getElementById('q').value = 'mallo'; " +
		"document.getElementById('q').dispatchEvent(new InputEvent('input', {inputType: 'insertText'}))")
	b.until("document.querySelector('#hints option') !== null")
	require.Equal(t, "p6", b.eval("document.querySelector('#hints option').value"))
	require.Eventually(t, func() bool {
		r, err := http.Get(base + "/round/0/20")
		return err == nil && r.Body.Close() == nil && r.StatusCode == 200
	}, patience, 100*time.Millisecond, "round 20 closes")
	b.eval("document.getElementById('q').value = '0/20'; document.querySelector('form[role=search]').requestSubmit()")
	b.until("location.pathname === '/round/0/20' && document.readyState === 'complete'")
	b.shot(filepath.Join(dir, "round.png"))

	axe, err := os.ReadFile("testdata/axe.min.js")
	require.NoError(t, err)
	hash := fmt.Sprint(b.eval("fetch('/round/0/20/gradient/6').then(r => r.url.split('/').pop())"))
	paths := []string{"/", "/tx/" + hash, "/round/0/20", "/participant/6", "/participant/5", "/participants", "/rounds",
		"/blocks", "/block/9", "/validators", "/model", "/verify", "/params", "/governance", "/evidence",
		"/search?q=9",
		"/terms", "/nothing"}
	for _, path := range paths {
		b.open(base + path)
		require.NotEqual(t, "hit", b.eval("document.title"), path)
		require.Equal(t, "undefined", b.eval("typeof window.hit"), path)
		require.Equal(t, "[]", b.eval("JSON.stringify(window.wrong)"), path)
		if name := strings.TrimPrefix(path, "/"); path == "/participant/6" || path == "/model" {
			time.Sleep(300 * time.Millisecond)
			b.shot(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"))
		}
		b.eval(string(axe) + ";1") // by the debugger, which the page's policy does not bind
		got := fmt.Sprint(b.eval(`axe.run(document).then(r => JSON.stringify(r.violations.map(v => v.id + ": " + ` +
			`v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary).slice(0, 2).join(" | "))))`))
		require.Equal(t, "[]", got, "axe on %s", path)
	}
	for _, width := range []int{1280, 1920} {
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1,
			"mobile": false})
		for _, path := range paths {
			b.open(base + path)
			require.LessOrEqual(t, b.eval("document.documentElement.scrollWidth"), float64(width), "%s at %d px", path, width)
		}
	}
	// On a telephone nothing scrolls sideways, and what is read out is the same.
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 844, "deviceScaleFactor": 1,
		"mobile": true})
	for _, path := range paths {
		b.open(base + path)
		wide := b.eval(`JSON.stringify([document.documentElement, ` +
			`...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > Math.min(390, ` +
			`e.clientWidth)).map(e => [e.tagName, e.ariaLabel, e.scrollWidth]))`)
		require.Equal(t, "[]", wide, "%s at 390 px", path)
		b.eval(string(axe) + ";1")
		got := fmt.Sprint(b.eval(`axe.run(document).then(r => JSON.stringify(r.violations.map(v => v.id + ": " + ` +
			`v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary).slice(0, 2).join(" | "))))`))
		require.Equal(t, "[]", got, "axe on %s at 390 px", path)
	}
	rows := b.eval("document.querySelector('nav').offsetHeight / document.querySelector('.menu summary').offsetHeight")
	require.LessOrEqual(t, rows, 1.5, "rows of the navigation")
	b.open(base + "/round/0/20")
	b.shot(filepath.Join(dir, "round-390.png"))
	b.call("Emulation.clearDeviceMetricsOverride", nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme",
		"value": "dark"}}})
	b.open(base + "/")
	b.until("document.querySelectorAll('figure polyline').length !== 0")
	b.shot(filepath.Join(dir, "home-dark.png"))
	b.eval(string(axe) + ";1")
	require.Equal(t, "[]", fmt.Sprint(b.eval(`axe.run(document,{runOnly:["color-contrast"]}).then(r => `+
		`JSON.stringify(r.violations.map(v => v.nodes.map(n => n.target.join(" ")+n.failureSummary).slice(0,3))))`)))
	// Without scripts the page is whole.
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	b.call("Page.navigate", map[string]any{"url": base + "/"})
	time.Sleep(time.Second)
	b.shot(filepath.Join(dir, "home-no-script.png"))
}

// TestLoad: 50 streams, and 200 requests a second for 5 seconds beside them.
func TestLoad(t *testing.T) {
	base := serve(t, attacked(t, 1000), "")
	require.Eventually(t, func() bool {
		r, err := http.Get(base + "/v1/rounds/5")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == 200
	}, patience, 100*time.Millisecond)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: patience}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var opened, events atomic.Int64
	var streams sync.WaitGroup
	for range 50 {
		streams.Go(func() {
			request, _ := http.NewRequestWithContext(ctx, "GET", base+"/v1/events", nil)
			r, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
			if err != nil || r.StatusCode != 200 {
				t.Error("stream", err)
				return
			}
			defer r.Body.Close()
			opened.Add(1)
			buf := make([]byte, 32<<10)
			for {
				n, err := r.Body.Read(buf)
				events.Add(int64(bytes.Count(buf[:n], []byte("event: "))))
				if err != nil {
					return
				}
			}
		})
	}
	paths := []string{"/", "/v1/status", "/v1/rounds/5", "/rounds", "/participant/6", "/v1/participants", "/model",
		"/round/0/4"}
	var mu sync.Mutex
	var times []time.Duration
	failed := map[int]int{}
	var wg sync.WaitGroup
	start := time.Now()
	for i := range 1000 {
		time.Sleep(time.Until(start.Add(time.Duration(i) * 5 * time.Millisecond))) // whatever the answers take
		wg.Go(func() {
			begin := time.Now()
			r, err := client.Get(base + paths[i%len(paths)])
			code := 0
			if err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
				code = r.StatusCode
			}
			mu.Lock()
			defer mu.Unlock()
			if times = append(times, time.Since(begin)); code != 200 {
				failed[code]++
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	for begin := time.Now(); (opened.Load() < 50 || events.Load() <= 50) &&
		time.Since(begin) < patience; time.Sleep(10 * time.Millisecond) {
	}
	cancel()
	streams.Wait()
	slices.Sort(times)
	t.Logf("1000 requests in %v (%.0f/s), failed %v; median %v, p95 %v, p99 %v, worst %v; %d events on 50 streams",
		took.Round(time.Millisecond), 1000/took.Seconds(), failed,
		times[500].Round(time.Microsecond), times[950].Round(time.Microsecond), times[990].Round(time.Microsecond),
		times[999].Round(time.Microsecond), events.Load())
	require.Empty(t, failed)
	require.Greater(t, events.Load(), int64(50))
}
