package explorer

import (
	"bytes"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/privacy/accountant"
)

//go:embed assets
var assets embed.FS

// Style returns the style sheet, so that other pages can look like the explorer's.
func Style() string {
	text, err := assets.ReadFile("assets/style.css")
	if err != nil {
		panic(err) // an embedded file can always be read
	}
	return string(text)
}

// content is the part of a page inside the layout: the name of its template, its title, and its
// data.
type content struct {
	name, title string
	body        any
}

// page is the data of the layout.
type page struct {
	Title, Section, Query string
	Status                query.Status
	Known                 bool // whether the status is known
	Stale                 bool // the last look at the chain failed
	Live                  bool // the page is fetched again when there is news
	Body                  any
}

// A section is a page to which every page links. The pages in Of belong to it.
type section struct{ Name, Path, Label, Of string }

var sections = []section{
	{"home", "/", "Training", ""}, {"rounds", "/rounds", "Rounds", "round"},
	{"participants", "/participants", "Participants", "participant"}, {"elections", "/elections", "Elections", ""},
	{"model", "/model", "Model", ""}, {"verify", "/verify", "Verify", ""}, {"blocks", "/blocks", "Blocks", "block tx"},
	{"validators", "/validators", "Validators", ""}, {"governance", "/governance", "Governance", ""},
	{"evidence", "/evidence", "Evidence", ""}, {"params", "/params", "Parameters", ""},
}

// sectionOf returns the name of the section that a page belongs to.
func sectionOf(page string) string {
	for _, s := range sections {
		if slices.Contains(strings.Fields(s.Of), page) {
			return s.Name
		}
	}
	return page
}

// person is a participant as pages show it.
type person struct {
	Index   uint32
	Moniker string
}

var functions = template.FuncMap{
	"hex":   func(b []byte) string { return hex.EncodeToString(b) },
	"cut":   func(s string) string { return short(s, 12) },
	"words": func(s string) string { return strings.ReplaceAll(s, "-", " ") },
	"share": func(ppm int64) string { return fmt.Sprintf("%.4f", float64(ppm)/params.One) },
	"change": func(ppm int64) string {
		if ppm == 0 {
			return "±0"
		}
		return fmt.Sprintf("%+.4f", float64(ppm)/params.One)
	},
	"percent":  func(x *float64) string { return fmt.Sprintf("%.2f %%", *x*100) },
	"accuracy": accuracyText,
	"rows":     rowsText,
	"weight":   chainview.WeightText,
	"term":     termOf,
	"lasts":    lasts,
	"figure":   func(x *float64) string { return fmt.Sprintf("%.4g", *x) },
	"spent":    func(epsilon *float64) string { return accountant.Text(*epsilon) },
	"clock":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
	"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"age":      func(t time.Time) string { return age(time.Since(t)) },
	"now":      time.Now,
	"person":   func(index uint32, moniker string) person { return person{index, moniker} },
	"people":   peopleOf,
	"hour":     func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	// the width of a bar of 100 for a part of a whole
	"bar": func(part, whole int) float64 { return 100 * min(1, max(0, float64(part)/float64(max(1, whole)))) },
	// the parts of a rule's name between which a line may break
	"ruleparts": func(rule string) []string { return strings.SplitAfter(rule, "+") },
	"sections": func() []section {
		return slices.DeleteFunc(slices.Clone(sections), func(s section) bool {
			return s.Name == "verify" && !verifierBuilt()
		})
	},
	"join": func(list []uint32) string {
		if more := len(list) - some; more > 0 {
			return fmt.Sprintf("%s and %d more", listed(list[:some]), more)
		}
		return listed(list)
	},
	"percents": func(ppm int64) float64 { return 100 * math.Min(1, math.Max(0, float64(ppm)/params.One)) },
	"hundred":  func(x float64) float64 { return 100 * x },
	"plus":     func(x, y float64) float64 { return x + y },
	"value":    func(x *float64) float64 { return *x },
	"part":     func(part, whole uint64) string { return fmt.Sprintf("%.2f", 100*float64(part)/float64(max(1, whole))) },
	"portion":  func(part, whole int) string { return fmt.Sprintf("%.3g %%", 100*float64(part)/float64(max(1, whole))) },
}

// people are the first participants of a list, and the number of the remaining ones.
type people struct {
	Shown []person
	More  int
}

func peopleOf(list []uint32, names map[uint32]string) people {
	out := people{More: max(0, len(list)-few)}
	for _, index := range list[:len(list)-out.More] {
		out.Shown = append(out.Shown, person{index, names[index]})
	}
	return out
}

// age returns how long ago a time is. assets/live.js writes the same text.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// lasts returns a rounded duration as text.
func lasts(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}

var templates = parse()

// parse parses the templates of the pages, each with the layout and the shared parts.
func parse() map[string]*template.Template {
	const dir = "assets/templates"
	files, err := assets.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	out := map[string]*template.Template{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "parts" && name != "story" {
			out[name] = template.Must(template.New("layout.html").Funcs(functions).ParseFS(assets, path.Join(dir, "layout.html"),
				path.Join(dir, "parts.html"), path.Join(dir, "story.html"), path.Join(dir, f.Name())))
		}
	}
	return out
}

// render writes a page. It completes the page before it sends the first byte, so that an error can
// still change the status.
func (s *Server) render(w http.ResponseWriter, r *http.Request, code int, v content) {
	text, err := s.compose(r, v)
	if err != nil {
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	write(w, code, htmlType, text)
}

// compose returns the text of a page.
func (s *Server) compose(r *http.Request, v content) ([]byte, error) {
	p := page{Title: v.title, Section: sectionOf(v.name), Live: v.name != "error" && v.name != "search", Body: v.body}
	if v.name == "search" {
		p.Query = r.URL.Query().Get("q")
	}
	s.tail.mu.Lock()
	p.Status, p.Known, p.Stale = s.tail.status, s.tail.begun, s.tail.failure != nil
	s.tail.mu.Unlock()
	var b bytes.Buffer
	if err := templates[v.name].Execute(&b, p); err != nil {
		s.options.Log("page is not written", "page", v.name, "err", err)
		return nil, err
	}
	return visible(b.Bytes(), forPage), nil
}

// The media types of pages and of answers to /v1.
const htmlType, jsonType = "text/html; charset=utf-8", "application/json"

// write writes a response with a body of a media type.
func write(w http.ResponseWriter, code int, mediaType string, body []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// serveAsset serves a script or a style sheet.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".gz": "application/gzip"}[path.Ext(name)]
	f, err := assets.Open("assets/" + name)
	if kind == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "verify") {
		w.Header().Set("Content-Security-Policy", verifierPolicy)
	}
	if name == wasm { // megabytes, which take a slow line longer than a page
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(5 * time.Minute))
	}
	http.ServeContent(w, r, "", time.Time{}, f.(io.ReadSeeker)) // an embedded file is one
}
