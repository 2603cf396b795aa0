package explorer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestReadsOnly: whatever is no GET, or brings a body, is turned away on every
// path.
func TestReadsOnly(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	for _, path := range []string{"/", "/v1/status", "/v1/events", "/assets/live.js", "/search?q=1", "/nothing"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"} {
			w := get(s, path, func(r *http.Request) { r.Method = method })
			require.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
			require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		}
		w := get(s, path, func(r *http.Request) { r.ContentLength, r.Body = 3, io.NopCloser(strings.NewReader("abc")) })
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, path)
		w = get(s, path, func(r *http.Request) { r.ContentLength, r.TransferEncoding = -1, []string{"chunked"} })
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, path)
	}
	require.Equal(t, http.StatusRequestURITooLong, get(s, "/?"+strings.Repeat("x", 1025)).Code)
}

// TestHosts: a name that is not ours is rejected, whatever it resolves to.
func TestHosts(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{APIConfig: home.APIConfig{Hosts: "spdl.example"}})
	for host, code := range map[string]int{
		"127.0.0.1:26680": 200, "localhost:26680": 200, "LOCALHOST": 200, "[::1]:26680": 200, "10.0.0.1": 200,
		"spdl.example": 200, "SPDL.example.:443": 200,
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "": 421,
	} {
		require.Equal(t, code, get(s, "/", func(r *http.Request) { r.Host = host }).Code, "%q", host)
	}
}

// TestRate: a client has its burst and no more, and takes nothing from another.
func TestRate(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{APIConfig: home.APIConfig{Rate: 0.001, Burst: 5}})
	ask := func(remote string) int {
		return get(s, "/v1/status", func(r *http.Request) { r.RemoteAddr = remote }).Code
	}
	for range 5 {
		require.Equal(t, 200, ask("10.0.0.1:1"))
	}
	require.Equal(t, 429, ask("10.0.0.1:2"), "another port is the same client")
	require.Equal(t, 200, ask("10.0.0.2:1"))
	for i := range 5 {
		require.Equal(t, 200, ask(fmt.Sprintf("[2001:db8::%d]:1", i)))
	}
	require.Equal(t, 429, ask("[2001:db8::ffff]:1"), "so is another address of a /64")
	require.Equal(t, 200, ask("[2001:db8:0:1::1]:1"))
	for i := range 3 * keptGuests {
		ask(fmt.Sprintf("11.%d.%d.1:1", i>>8, i&255))
	}
	require.Equal(t, 200, ask("10.0.0.1:1"), "forgotten among the others")
}

// TestStreams: they are bounded, for a client and for all, tell of new rounds
// and end with the server.
func TestStreams(t *testing.T) {
	f := newFake(3, "x<\u202e")
	s := New(f, f, Options{APIConfig: home.APIConfig{MaxStreams: 3, StreamsPerClient: 2}, Poll: 5 * time.Millisecond})
	l, err := Listen("tcp://127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	require.Eventually(t, func() bool { _, err := s.chain.Now(); return err == nil }, time.Minute, time.Millisecond)
	var open []*http.Response
	for range 2 {
		r, err := http.Get(url + "/v1/events")
		require.NoError(t, err)
		require.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
		open = append(open, r)
	}
	r, err := http.Get(url + "/v1/events")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	_ = r.Body.Close()
	f.set(func() { f.rounds = 5 })
	lines := bufio.NewScanner(open[0].Body)
	var rounds []uint64
	for len(rounds) < 2 && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, `"margin"`) {
			var p chainview.Point
			require.NoError(t, json.Unmarshal([]byte(data), &p))
			rounds = append(rounds, p.Round)
		}
	}
	require.Equal(t, []uint64{3, 4}, rounds)
	_ = open[1].Body.Close() // makes room
	require.Eventually(t, func() bool {
		r, err := http.Get(url + "/v1/events")
		if err != nil {
			return false
		}
		defer func() { _ = r.Body.Close() }()
		return r.StatusCode == 200
	}, time.Minute, 10*time.Millisecond)
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
}

// TestKept: a closed round is asked for once, and a chain that was set back is
// begun again.
func TestKept(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{})
	for range 5 {
		get(s, "/round/0/3")
		get(s, "/participant/1")
	}
	require.Equal(t, 1, f.asked["/round/0/3"])
	f.set(func() { f.rounds = 2 })
	require.NoError(t, s.chain.Look(t.Context()))
	now, err := s.chain.Now()
	require.NoError(t, err)
	require.Len(t, now.Points, 2)
	require.Equal(t, 404, get(s, "/round/0/3").Code)
}

// TestNodeAway: pages say that the node does not answer, and not where it is.
func TestNodeAway(t *testing.T) {
	f := newFake(6, "x")
	f.down = true
	s := over(t, f, Options{})
	require.Equal(t, http.StatusServiceUnavailable, get(s, "/").Code)
	w := get(s, "/v1/status")
	require.Equal(t, http.StatusBadGateway, w.Code)
	require.NotContains(t, w.Body.String(), "10.1.2.3")
}

// TestPanic: what panics while the tail looks does not end the process, and the
// tail goes on.
func TestPanic(t *testing.T) {
	var said []any
	s := New(newFake(6, "x"), nil, Options{Log: func(_ string, values ...any) { said = append(said, values...) },
		Evaluator: evaluator(func(context.Context) (model.Eval, error) { panic("unforeseen") })})
	require.NoError(t, s.chain.Look(t.Context()))
	require.NoError(t, s.chain.Measure(t.Context(), params.RoundID{Epoch: 0, Round: 3}), "it is not tried again")
	require.Contains(t, fmt.Sprint(said...), "unforeseen")
	require.ErrorContains(t, New(nil, nil, Options{}).chain.Look(t.Context()), "panic")
}

// TestAttackerAtAGlance: the pages name who is opposed, in words.
func TestAttackerAtAGlance(t *testing.T) {
	s := over(t, newFake(12, "node"), Options{})
	home := get(s, "/").Body.String()
	require.Contains(t, home, "1 participant stands out")
	require.Contains(t, home, "opposed to Delta in 12 of 12")
	require.Contains(t, home, "proven offences: 1")
	require.Equal(t, 1, strings.Count(home, `<tr class="alarm-suspect">`))
	round := get(s, "/round/0/3").Body.String()
	for _, text := range []string{
		"✕ opposed", "left out", "Its score is 1.417 times that of the last selected, place 4 of 4: too far",
		"by more than reputation.margin allows", "failed to lead", "-0.0010", "★ leader",
	} {
		require.Contains(t, round, text)
	}
	require.Contains(t, get(s, "/participant/3").Body.String(), "⚠ suspect")
}

// TestSearch goes to what there is.
func TestSearch(t *testing.T) {
	s := over(t, newFake(6, "node"), Options{})
	for q, want := range map[string]string{
		"block 3": "/block/3", "0/2": "/round/0/2", "r2": "/round/0/2", "p3": "/participant/3", "7": "/block/7",
		"02abcdef":                          "/participant/2",
		fmt.Sprintf("%x", key(2).Address()): "/participant/2",
		"aa" + strings.Repeat("0", 62):      "/tx/aa" + strings.Repeat("0", 62), "0x" + strings.Repeat("AA", 32): "/tx/" +
			strings.Repeat("aa", 32),
	} {
		w := get(s, "/search?q="+strings.ReplaceAll(q, " ", "+"))
		require.Equal(t, http.StatusSeeOther, w.Code, q)
		require.Equal(t, want, w.Header().Get("Location"), q)
	}
	require.Equal(t, 404, get(s, "/search?q=nobody").Code)
	require.Equal(t, 200, get(s, "/search").Code)
	require.Contains(t, get(s, "/search?q=00000000").Body.String(), "Round 2 of epoch 0, by its model or Delta")
	body := get(s, "/search?q=2").Body.String()
	for _, path := range []string{"/block/2", "/round/0/2", "/participant/2"} {
		require.Contains(t, body, `href="`+path+`"`)
	}
}

// TestModelFormats: what is no format, no model or no round is refused.
func TestModelFormats(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	require.Equal(t, 404, get(s, "/v1/models/2?format=safetensors").Code, "no node to export from")
	require.Equal(t, 400, get(s, "/v1/models/2?format=exe").Code)
	require.Equal(t, 404, get(s, "/v1/models/77").Code)
	require.Equal(t, 400, get(s, "/v1/models/77?format=bogus").Code, "wrong whether or not there is such a model")
	require.Equal(t, 400, get(s, "/v1/models/-1").Code)
}

// TestOpenAPI: the document lists what is served, and every answer has the
// keys that it promises.
func TestOpenAPI(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name, In string
					Example  any
				}
				Responses map[string]struct {
					Content map[string]struct{ Schema any }
				}
			}
		}
		Components struct{ Schemas map[string]any }
	}
	require.NoError(t, json.Unmarshal(get(s, "/v1/openapi.json").Body.Bytes(), &doc))
	require.Len(t, doc.Paths, 13)
	for path, item := range doc.Paths {
		for _, p := range item.Get.Parameters {
			if p.In == "path" {
				path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Example))
			}
		}
		if path == "/v1/events" {
			continue
		}
		w := get(s, path)
		require.Equal(t, 200, w.Code, path)
		var body any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), path)
		matches(t, path, doc.Components.Schemas, item.Get.Responses["200"].Content["application/json"].Schema, body)
	}
}

// matches checks types, required and unknown keys: what our document uses.
func matches(t *testing.T, at string, schemas map[string]any, schema, value any) {
	t.Helper()
	s := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		matches(t, at, schemas, schemas[strings.TrimPrefix(ref, "#/components/schemas/")], value)
		return
	}
	kinds := fmt.Sprint(s["type"])
	switch v := value.(type) {
	case nil:
		require.Contains(t, kinds, "null", at)
	case string:
		require.Contains(t, kinds, "string", at)
	case bool:
		require.Contains(t, kinds, "boolean", at)
	case float64:
		require.True(t, strings.Contains(kinds, "number") || strings.Contains(kinds, "integer"), at)
	case []any:
		require.Equal(t, "array", kinds, at)
		for i := range v {
			matches(t, fmt.Sprint(at, "/", i), schemas, s["items"], v[i])
		}
	case map[string]any:
		require.Equal(t, "object", kinds, at)
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, key := range required {
			require.Contains(t, v, key, at)
		}
		for key := range v {
			if properties != nil {
				require.Contains(t, properties, key, at)
				matches(t, at+"/"+key, schemas, properties[key], v[key])
			}
		}
	}
}

// TestConnections: headers have a bound, and so has the number of connections.
func TestConnections(t *testing.T) {
	f := newFake(3, "x")
	s := New(f, f, Options{APIConfig: home.APIConfig{MaxConnections: 2}})
	l, err := Listen("tcp://127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { cancel(); require.NoError(t, <-done) }()
	request, err := http.NewRequest("GET", "http://"+l.Addr().String()+"/v1/status", nil)
	require.NoError(t, err)
	request.Header.Set("X-Long", strings.Repeat("x", 40<<10))
	r, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, r.StatusCode)
	_ = r.Body.Close()
	var held []*http.Response
	for range 2 { // two streams hold both connections
		r, err := (&http.Client{Transport: &http.Transport{}}).Get("http://" + l.Addr().String() + "/v1/events")
		require.NoError(t, err)
		held = append(held, r)
	}
	third := &http.Client{Transport: &http.Transport{}, Timeout: 200 * time.Millisecond}
	_, err = third.Get("http://" + l.Addr().String() + "/v1/status")
	require.Error(t, err, "a third waits")
	for _, r := range held {
		_ = r.Body.Close()
	}
}

// TestWritten: between two looks at the chain a page is written once, with the
// next it is written again, and an error is not kept.
func TestWritten(t *testing.T) {
	f := newFake(6, "x")
	s := over(t, f, Options{})
	first := get(s, "/participants").Body.String()
	f.asked = map[string]int{}
	require.Equal(t, first, get(s, "/participants").Body.String())
	require.Empty(t, f.asked)
	require.Equal(t, 404, get(s, "/round/0/7").Code)
	f.set(func() { f.rounds = 8 })
	require.NoError(t, s.chain.Look(t.Context()))
	require.Equal(t, 200, get(s, "/round/0/7").Code)
	require.Contains(t, get(s, "/").Body.String(), "round 8 of")
	require.NotEqual(t, first, get(s, "/participants").Body.String())
}
