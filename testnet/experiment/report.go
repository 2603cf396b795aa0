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
)

//go:embed report.html
var reportPage string

// page escapes whatever the files hold; the only URLs are data that we encode.
var page = template.Must(template.New("report").Parse(reportPage))

// section is one experiment on the page.
type section struct {
	Summary
	Image template.URL
	Lines int // of the CSV's data
}

// Report joins a folder's figures into one HTML page that loads nothing.
func Report(dir string) ([]byte, error) {
	if at, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !at.IsDir() {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	var sections []section
	for _, e := range all {
		path := filepath.Join(dir, e.Name+".json")
		raw, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var s section
		if err == nil {
			err = json.Unmarshal(raw, &s.Summary)
		}
		if err == nil && s.Name != e.Name {
			err = fmt.Errorf("it is of the experiment %q", s.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; `spdl experiment %s --out %s` makes it again", path, err, e.Name, dir)
		}
		svg, err := os.ReadFile(filepath.Join(dir, e.Name+".svg"))
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(svg, []byte("<svg")) {
			return nil, fmt.Errorf("%s is no drawing; `spdl experiment %s --out %s` makes it again", filepath.Join(dir, e.Name+".svg"), e.Name, dir)
		}
		s.Image = template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg))
		if table, err := os.ReadFile(filepath.Join(dir, e.Name+".csv")); err == nil {
			s.Lines = max(0, bytes.Count(table, []byte("\n"))-len(s.Notes)-1)
		}
		sections = append(sections, s)
	}
	if len(sections) == 0 {
		return nil, fmt.Errorf("%s holds no experiment; make one with `spdl experiment NAME --out %s`", dir, dir)
	}
	var out bytes.Buffer
	err := page.Execute(&out, sections)
	return out.Bytes(), err
}
