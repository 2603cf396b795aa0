package dossier

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	htmltemplate "html/template"
	"io"
	"regexp"
	"strings"
	"text/template"

	"github.com/spdl/spdl/internal/printable"
)

// The kinds of a basis. All but Declared are proven.
const (
	State       = "state"       // a value of the state, by a Merkle path to a header's application hash
	Transaction = "transaction" // a transaction, by a Merkle path to a header's data or evidence hash
	Header      = "header"      // a field of a header
	Recomputed  = "recomputed"  // computed again from proven values only
	Declared    = "declared"    // a statement without proof
)

// Basis is the reason why a sentence is true.
type Basis struct {
	Kind   string `json:"kind"`
	Of     string `json:"of"`               // the key of the state, the transaction, the source of a declaration
	Height uint64 `json:"height,omitempty"` // of the header that the proof leads to
}

// Proven reports whether the basis is a proof.
func (b Basis) Proven() bool { return b.Kind != Declared }

func (b Basis) String() string {
	switch {
	case b.Kind == Header:
		return fmt.Sprintf("proof: header %d", b.Height)
	case b.Kind == Recomputed:
		return "proof: recomputed from " + b.Of
	case b.Kind != Declared:
		return fmt.Sprintf("proof: %s %s, header %d", b.Kind, b.Of, b.Height)
	}
	return "declared: " + b.Of
}

// Claim is one sentence of a page, or one row of a table.
type Claim struct {
	ID    string   `json:"id"` // the number of its section, a point, and its number in the section
	Text  string   `json:"text,omitempty"`
	Cells []string `json:"cells,omitempty"` // of a row, in place of Text
	Basis Basis    `json:"basis"`
}

// Section is a part of a page: sentences, and then rows if it has a head.
type Section struct {
	Title  string   `json:"title"`
	Head   []string `json:"head,omitempty"`
	Claims []Claim  `json:"claims"`
}

// Page is a whole page. Section, Say and Row build it.
type Page struct {
	Title    string    `json:"title"`
	Sections []Section `json:"sections"`
}

// Section begins a section, with the head of its table if it has one.
func (p *Page) Section(title string, head ...string) {
	p.Sections = append(p.Sections, Section{Title: title, Head: head, Claims: []Claim{}})
}

// Say adds a sentence to the section.
func (p *Page) Say(b Basis, format string, args ...any) {
	p.add(Claim{Text: clean(fmt.Sprintf(format, args...)), Basis: b})
}

// Row adds a row to the section's table.
func (p *Page) Row(b Basis, cells ...string) {
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	p.add(Claim{Cells: cells, Basis: b})
}

func (p *Page) add(c Claim) {
	s := &p.Sections[len(p.Sections)-1]
	c.ID = fmt.Sprintf("%d.%d", len(p.Sections), len(s.Claims)+1)
	s.Claims = append(s.Claims, c)
}

// Count returns how many claims are proven and how many are declared.
func (p *Page) Count() (proven, declared int) {
	for _, s := range p.Sections {
		for _, c := range s.Claims {
			if c.Basis.Proven() {
				proven++
			} else {
				declared++
			}
		}
	}
	return proven, declared
}

// clean turns a text into one printable line, because a claim is one line of a page.
func clean(text string) string { return strings.Join(strings.Fields(printable.Text(text)), " ") }

// JSON returns the claims as JSON.
func (p *Page) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", " ")
	return append(text, '\n'), err
}

var (
	//go:embed page.html
	htmlText string
	//go:embed page.md
	markdownText string

	htmlPage     = htmltemplate.Must(htmltemplate.New("html").Parse(htmlText))
	markdownPage = template.Must(template.New("markdown").Funcs(template.FuncMap{"md": markdown}).Parse(markdownText))
)

// HTML returns the page in HTML: one file that loads no other files and has no script.
func (p *Page) HTML() ([]byte, error) { return p.write(htmlPage) }

// Markdown returns the page in Markdown.
func (p *Page) Markdown() ([]byte, error) { return p.write(markdownPage) }

func (p *Page) write(form interface{ Execute(io.Writer, any) error }) ([]byte, error) {
	var out bytes.Buffer
	err := form.Execute(&out, p)
	return out.Bytes(), err
}

var special = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`,
	"[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`,
	"#", `\#`, "|", `\|`, "&", `\&`)

// markdown escapes a text, so that a participant's name cannot become markup.
func markdown(text any) string { return special.Replace(fmt.Sprint(text)) }

// number matches the number of a claim in a line of a page.
var number = regexp.MustCompile(`^(?:<(?:p|tr) id="c|- \*\*|\| )([0-9]+\.[0-9]+)`)

// changed names the first difference between a page and the page that it must be. It returns "" if the bytes are equal.
func changed(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	proven, said := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	i := 0
	for i < min(len(proven), len(said)) && proven[i] == said[i] {
		i++
	}
	if i == len(said) {
		return fmt.Sprintf("it ends before %.300q", proven[i])
	}
	if i < len(proven) {
		if m := number.FindStringSubmatch(proven[i]); m != nil {
			return fmt.Sprintf("sentence %s says %.300q, proven is %.300q", m[1], said[i], proven[i])
		}
	}
	return fmt.Sprintf("the line %.300q does not follow from the proofs", said[i])
}
