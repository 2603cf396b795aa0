package experiment

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/spdl/spdl/testnet/experiment/figure"
)

//go:embed report.html
var reportPage string

// page is the template of the page. It escapes the content of all files; its only URLs are data
// URLs that this package encodes.
var page = template.Must(template.New("report").Parse(reportPage))

// Section is one experiment on the page.
type Section struct {
	Summary
	Drawing Drawing
	Lines   int // of the CSV's data
}

// Drawing is one picture of a section. Title says what it shows, for readers who do not see it.
type Drawing struct {
	Title string
	SVG   []byte
}

// Image returns the drawing as a data URL for the page.
func (d Drawing) Image() template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(d.SVG))
}

// drawn matches the width in the head of a drawing, in points.
var drawn = regexp.MustCompile(`<svg [^>]*?width="([0-9.]+)pt"`)

// Width returns the width of the drawing, in CSS pixels.
func (d Drawing) Width() int {
	found := drawn.FindSubmatch(d.SVG)
	if found == nil {
		return 900
	}
	points, _ := strconv.ParseFloat(string(found[1]), 64) // 0 if there is none: then the page scales it
	return int(points * 4 / 3)
}

// Details returns the notes that the page does not show elsewhere.
func (s Section) Details() []figure.Note {
	return slices.DeleteFunc(slices.Clone(s.Notes), func(n figure.Note) bool { return n.Name == "title" })
}

// Summary reads the experiment's summary from a folder.
func (e Experiment) Summary(dir string) (s Summary, err error) {
	path := filepath.Join(dir, e.Name+".json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, err
	}
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err == nil && s.Name != e.Name {
		err = fmt.Errorf("it is of the experiment %q", s.Name)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w; `spdl-lab experiment %s --out %s` makes it again", path, err, e.Name, dir)
	}
	return s, nil
}

// Report joins a folder's figures into one HTML page that loads no other files.
func Report(dir string) ([]byte, error) {
	if at, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !at.IsDir() {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	var sections []Section
	for _, e := range all {
		var s Section
		var err error
		if s.Summary, err = e.Summary(dir); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		svg, err := os.ReadFile(filepath.Join(dir, e.Name+".svg"))
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(svg, []byte("<svg")) {
			return nil, fmt.Errorf("%s is no drawing; `spdl-lab experiment %s --out %s` makes it again",
				filepath.Join(dir, e.Name+".svg"), e.Name, dir)
		}
		s.Drawing = Drawing{s.Title, svg}
		if table, err := os.ReadFile(filepath.Join(dir, e.Name+".csv")); err == nil {
			s.Lines = max(0, bytes.Count(table, []byte("\n"))-len(s.Notes)-1)
		}
		sections = append(sections, s)
	}
	if len(sections) == 0 {
		return nil, fmt.Errorf("%s holds no experiment; make one with `spdl-lab experiment NAME --out %s`", dir, dir)
	}
	var out bytes.Buffer
	err := page.Execute(&out, sections)
	return out.Bytes(), err
}
