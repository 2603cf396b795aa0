// Package pages makes the explorer's pages from the view of a chain: a model of each page, and its template. The
// pages work without JavaScript.
//
// Text from the chain may be hostile: html/template escapes it for its place in the page, and [Visible] then replaces
// characters that would reverse or hide a line. The Content-Security-Policy that the explorer sends blocks what both
// miss.
package pages

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Assets are the style sheet, the scripts and the templates of the pages, and the description of /v1.
//
//go:embed assets
var Assets embed.FS

// asset returns an embedded file.
func asset(name string) []byte {
	body, err := Assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // an embedded file can always be read
	}
	return body
}

// Style returns the style sheet, so that other pages can look like the explorer's.
func Style() string { return string(asset("style.css")) }

// ErrBad reports a request that is malformed.
var ErrBad = errors.New("malformed request")

// A Request asks for a page. Its Reader reads the chain, and keeps the first error of the answer.
type Request struct {
	*chainview.Reader
	URL       *url.URL
	PathValue func(name string) string
	Node      string // RPC address in the commands on pages
}

// Value returns a value of the query.
func (r *Request) Value(name string) string { return r.URL.Query().Get(name) }

// Number parses a part of the path or the query.
func (r *Request) Number(name, text string) uint64 {
	x, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		r.Fail(fmt.Errorf("%w: %s %q is no number from 0 on", ErrBad, name, Short(text, 40)))
	}
	return x
}

// Place parses the epoch and the round in the path.
func (r *Request) Place() (at params.RoundID) {
	at.Epoch = r.Number("epoch", r.PathValue("epoch"))
	at.Round = r.Number("round", r.PathValue("round"))
	return at
}

// Content is the part of a page inside the layout: the name of its template, its title, and its
// data.
type Content struct {
	Name, Title string
	Body        any
}

// Routes maps the pattern of an address to its page, and Files the pattern of the addresses of tables to the page
// that has them.
var (
	Routes = map[string]func(*Request) Content{
		"/{$}": home, "/blocks": blocks, "/block/{height}": block, "/tx/{hash}": transaction,
		"/rounds": rounds, "/round/{epoch}/{round}": round, "/participants": participants,
		"/participant/{index}": participant, "/validators": validators, "/elections": elections, "/model": theModel,
		"/params": settings, "/governance": governance, "/evidence": evidence, "/verify": verify,
		"/terms": func(*Request) Content { return Content{"terms", "Glossary", glossary} },
	}
	Files = map[string]func(*Request) Content{
		"/training/{file}": home, "/round/{epoch}/{round}/{file}": round, "/participant/{index}/{file}": participant,
		"/model/{file}": theModel,
	}
)

// A section is a page to which every page links. The pages in Of belong to it.
type section struct{ Name, Path, Label, Of string }

var sections = []section{
	{"home", "/", "Training", ""}, {"rounds", "/rounds", "Rounds", "round"},
	{"participants", "/participants", "Participants", "participant"}, {"elections", "/elections", "Elections", ""},
	{"model", "/model", "Model", ""}, {"verify", "/verify", "Verify", ""}, {"blocks", "/blocks", "Blocks", "block tx"},
	{"validators", "/validators", "Validators", ""}, {"governance", "/governance", "Governance", ""},
	{"evidence", "/evidence", "Evidence", ""}, {"params", "/params", "Parameters", ""},
}

// layout is the data of the layout.
type layout struct {
	Title, Section, Query string
	Status                query.Status
	Known                 bool // whether the status is known
	Stale                 bool // the last look at the chain failed
	Live                  bool // the page is fetched again when there is news
	Body                  any
}

var templates = parse()

// parse parses the templates of the pages, each with the layout and the shared parts.
func parse() map[string]*template.Template {
	const dir = "assets/templates"
	files, err := Assets.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	out := map[string]*template.Template{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "parts" && name != "story" {
			out[name] = template.Must(template.New("layout.html").Funcs(functions).ParseFS(Assets, path.Join(dir, "layout.html"),
				path.Join(dir, "parts.html"), path.Join(dir, "story.html"), path.Join(dir, f.Name())))
		}
	}
	return out
}

// Write returns the text of a page.
func Write(chain *chainview.Chain, asked string, v Content) ([]byte, error) {
	course, err := chain.Now()
	p := layout{Title: v.Title, Section: v.Name, Live: v.Name != "error" && v.Name != "search", Body: v.Body,
		Status: course.Status, Known: err == nil, Stale: chain.Lost()}
	for _, s := range sections {
		if slices.Contains(strings.Fields(s.Of), v.Name) {
			p.Section = s.Name
		}
	}
	if v.Name == "search" {
		p.Query = asked
	}
	var b bytes.Buffer
	if err := templates[v.Name].Execute(&b, p); err != nil {
		return nil, fmt.Errorf("page %s: %w", v.Name, err)
	}
	return Visible(b.Bytes(), ForPage), nil
}

// verifying completes a command of spdl verify with a height, the hash of its block, and the node. Height 0 is the
// last but one. Words in capitals stand for what is not known.
func (r *Request) verifying(at int64, command string) (text, height, hash string) {
	if course, err := r.Now(); at == 0 && err == nil && course.Status.Height >= 2 {
		at = int64(course.Status.Height) - 1
	}
	if metas, err := r.Headers(at, at); at > 0 && err == nil && len(metas) == 1 && metas[0].Header.Height == at {
		height, hash = strconv.FormatInt(at, 10), metas[0].BlockID.Hash.String()
	}
	return fmt.Sprintf("spdl verify %s --trust-height %s --trust-hash %s --node %s", command, cmp.Or(height, "HEIGHT"),
		cmp.Or(hash, "HASH"), r.Node), height, hash
}
