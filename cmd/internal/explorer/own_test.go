package explorer

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// rowsOf writes a table of patients, in which the old ones die, and returns its file with the chain's table.
func rowsOf(t *testing.T, rows int) (string, *params.Table) {
	t.Helper()
	random, text := rand.New(rand.NewPCG(3, 4)), strings.Builder{}
	text.WriteString("age,sex,outcome\n")
	for range rows {
		age, outcome := 20+random.IntN(80), "alive"
		if random.IntN(100) < age-20 {
			outcome = "dead"
		}
		fmt.Fprintf(&text, "%d,%s,%s\n", age, []string{"F", "M"}[random.IntN(2)], outcome)
	}
	path := filepath.Join(t.TempDir(), "patients.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path, &params.Table{Label: "outcome", Classes: []string{"alive", "dead"}, Columns: []params.Column{
		{Name: "age", Low: 20, High: 100}, {Name: "sex", Values: []string{"F", "M"}}}}
}

// tabled is an explorer of a chain with a logistic model of a table.
func tabled(t *testing.T, table *params.Table, o Options) *Server {
	t.Helper()
	o.Rate, o.Burst = 1e6, 1_000_000
	c := changed{newFake(6, "x"), func(_ string, answer any) {
		switch x := answer.(type) {
		case *params.Params:
			x.Model = params.Model{Kind: params.ModelLogistic, Inputs: 4, Classes: 2, NoBias: true, Pool: 1,
				PixelMean: params.TableMean, PixelScale: params.TableScale, Table: table}
		case *query.ModelState:
			x.Parameters = app.EncodeParameters([]float64{2, 0, -0.5, -0.1})
		}
	}}
	s := New(c, c, o)
	require.NoError(t, s.chain.Look(t.Context()))
	return s
}

// TestGainIsTheMembersAlone: the page is answered to loopback and private addresses alone, neither through a proxy that
// can be told nor under a name; no other answer leads there, and a page that the member was shown is not shown to
// others.
func TestGainIsTheMembersAlone(t *testing.T) {
	path, table := rowsOf(t, 400)
	ask := func(s *Server, change func(*http.Request)) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, "/gain", nil), httptest.NewRecorder()
		r.RemoteAddr, r.Host = "127.0.0.1:5000", "localhost:26680"
		change(r)
		s.handler.ServeHTTP(w, r)
		return w
	}
	model := func(r *http.Request) { r.URL.Path, r.RequestURI = "/model", "/model" }
	s := tabled(t, table, Options{APIConfig: home.APIConfig{Hosts: "*"}, Own: path})
	page := ask(s, func(*http.Request) {}).Body.String()
	for _, text := range []string{"This page is private", "the common model, as it is", "your own rows without the " +
		"chain", "by the rate", "After round 5", `href="/gain" aria-current="page"`, "no epsilon"} {
		require.Contains(t, strings.ToLower(page), strings.ToLower(text))
	}
	require.Contains(t, ask(s, model).Body.String(), "What you gain by this model")
	for name, change := range map[string]func(*http.Request){
		"another machine":     func(r *http.Request) { r.RemoteAddr = "192.0.2.7:5000" },
		"a public address":    func(r *http.Request) { r.Host = "192.0.2.1:26680" },
		"a name":              func(r *http.Request) { r.Host = "node.hospital.example" },
		"a proxy":             func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7") },
		"a proxy of HTTP 1.0": func(r *http.Request) { r.ProtoMajor, r.ProtoMinor = 1, 0 },
	} {
		require.Equal(t, http.StatusNotFound, ask(s, change).Code, name)
		others := ask(s, func(r *http.Request) { model(r); change(r) })
		require.Equal(t, http.StatusOK, others.Code)
		require.NotContains(t, others.Body.String(), "/gain", name)
	}
	near := func(r *http.Request) { r.RemoteAddr, r.Host = "10.0.0.7:5000", "10.0.0.1:26680" }
	require.Equal(t, http.StatusOK, ask(s, near).Code)
	without := ask(tabled(t, table, Options{}), near)
	require.Equal(t, http.StatusNotFound, without.Code, "no rows of its own")
	require.Contains(t, without.Body.String(), "spdl explorer --gain --home HOME, or explorer.gain of app.toml")
	require.NotContains(t, get(s, "/v1/openapi.json").Body.String(), "/gain")
}

// TestGainIsAskedFor: without explorer.gain an explorer has no rows of its own.
func TestGainIsAskedFor(t *testing.T) {
	a, e := home.DefaultAppConfig(), home.EvaluatorOf(config.DefaultConfig(), home.WorkerConfig{Data: "patients.csv"})
	require.Empty(t, OptionsOf(a, e).Own)
	a.Explorer.Gain = true
	require.Equal(t, "patients.csv", OptionsOf(a, e).Own)
}

// TestNoGain: a file that has no such rows is said to be so.
func TestNoGain(t *testing.T) {
	_, table := rowsOf(t, 10)
	s := tabled(t, table, Options{Own: filepath.Join(t.TempDir(), "none.csv")})
	r, w := httptest.NewRequest(http.MethodGet, "/gain", nil), httptest.NewRecorder()
	r.RemoteAddr, r.Host = "127.0.0.1:5000", "127.0.0.1:26680"
	s.handler.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), "Nothing is measured: ")
}

// TestTableModel: the model page names columns and classes, and a column can be chosen.
func TestTableModel(t *testing.T) {
	_, table := rowsOf(t, 10)
	s := tabled(t, table, Options{})
	page := get(s, "/model").Body.String()
	for _, text := range []string{"What each column does to <bdi>outcome</bdi> = <bdi>dead</bdi>", "× 1.051",
		"from 20 to 100", "= <bdi>M</bdi>", "What <bdi>age</bdi> does", `<svg class="chart"`} {
		require.Contains(t, page, text)
	}
	require.Contains(t, get(s, "/model?column=1").Body.String(),
		"Probability of outcome = dead</strong> by <bdi>sex</bdi>")
	require.Equal(t, http.StatusBadRequest, get(s, "/model?column=2").Code)
	require.Equal(t, "class,column,input,coefficient,noise\n1,0,0,2,0\n1,1,1,-0.5,0\n1,1,0,0,0\n",
		get(s, "/model/coefficients.csv").Body.String())
	require.Contains(t, get(s, "/params").Body.String(), "2: age, sex")
	require.NotContains(t, get(s, "/params").Body.String(), "map[")
}
