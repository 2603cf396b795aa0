// Package pages makes the explorer's pages from the view of a chain: a model of each page, and its template. The
// pages work without JavaScript.
//
// Text from the chain may be hostile: html/template escapes it for its place in the page, and [Visible] then replaces
// characters that would reverse or hide a line. The Content-Security-Policy that the explorer sends blocks what both
// miss.
package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Routes maps the pattern of an address to its page, and Files the pattern of the addresses of tables to the page
// that has them.
var (
	Routes = map[string]func(*Request) Content{
		"/{$}": home, "/blocks": blocks, "/block/{height}": block, "/tx/{hash}": transaction,
		"/rounds": rounds, "/round/{epoch}/{round}": round, "/participants": participants,
		"/participant/{index}": participant, "/validators": validators, "/model": theModel,
		"/gain":   theGain,
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
	{"participants", "/participants", "Participants", "participant"},
	{"model", "/model", "Model", ""}, {"gain", "/gain", "Your gain", ""},
	{"verify", "/verify", "Verify", ""}, {"blocks", "/blocks", "Blocks", "block tx"},
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
	Own                   bool // the reader is the member, at home
	Body                  any
}

// Here is the label of the page in the navigation, or else its title.
func (l layout) Here() string {
	for _, s := range sections {
		if s.Name == l.Section {
			return s.Label
		}
	}
	return l.Title
}

// navigation is what the layout may call beside functions.
var navigation = template.FuncMap{
	"sections": func(own bool) []section {
		return slices.DeleteFunc(slices.Clone(sections),
			func(s section) bool { return s.Name == "verify" && !verifierBuilt() || s.Name == "gain" && !own })
	},
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
			out[name] = template.Must(template.New("layout.html").Funcs(functions).Funcs(navigation).ParseFS(Assets,
				dir+"/layout.html", dir+"/parts.html", dir+"/story.html", dir+"/"+f.Name()))
		}
	}
	return out
}

// Write returns the text of a page, with a link to the gain if the member itself asks.
func Write(chain *chainview.Chain, asked string, own bool, v Content) ([]byte, error) {
	course, err := chain.Now()
	p := layout{Title: v.Title, Section: v.Name, Live: v.Name != "error" && v.Name != "search", Body: v.Body,
		Status: course.Status, Known: err == nil, Stale: chain.Lost(), Own: own}
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
