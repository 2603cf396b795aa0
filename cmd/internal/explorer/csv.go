package explorer

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
)

// A table is the data of a picture, as a CSV file at the address of its page. It holds
// numbers, and words of the explorer. It holds no text of the chain, because a spreadsheet might
// take such a text for a formula.
type table struct {
	name   string // of the file, without .csv
	header []string
	rows   [][]string
}

// add appends a row. A nil pointer is an empty cell.
func (t *table) add(values ...any) {
	row := make([]string, len(values))
	for i, v := range values {
		switch x := v.(type) {
		case *float64:
			if x != nil {
				row[i] = fmt.Sprint(*x)
			}
		default:
			row[i] = fmt.Sprint(v)
		}
	}
	t.rows = append(t.rows, row)
}

// tabled is the body of a page with tables.
type tabled interface{ tables() []table }

// csvPages maps the pattern of the tables' addresses to the page whose tables are served there.
func (s *Server) csvPages() map[string]func(*http.Request) (content, error) {
	return map[string]func(*http.Request) (content, error){
		"/training/{file}": s.home, "/round/{epoch}/{round}/{file}": s.round, "/participant/{index}/{file}": s.participant,
		"/model/{file}": s.model,
	}
}

// csv serves the tables of a page.
func (s *Server) csv(page func(*http.Request) (content, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := s.once(r, func(r *http.Request) ([]byte, error) {
			name, isCSV := strings.CutSuffix(r.PathValue("file"), ".csv")
			if !isCSV {
				return nil, fmt.Errorf("%w: page %q", errNotFound, short(r.URL.Path, 100))
			}
			v, err := page(r)
			if err != nil {
				return nil, err
			}
			return tableOf(v, name)
		})
		if err != nil {
			s.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q",
			strings.ReplaceAll(strings.Trim(r.URL.Path, "/"), "/", "-")))
		_, _ = w.Write(text)
	}
}

// tableOf returns one of a page's tables as CSV.
func tableOf(v content, name string) ([]byte, error) {
	body, ok := v.body.(tabled)
	if !ok {
		return nil, fmt.Errorf("%w: table %q", errNotFound, short(name, 40))
	}
	for _, t := range body.tables() {
		if t.name == name {
			var b bytes.Buffer
			out := csv.NewWriter(&b)
			err := out.WriteAll(append([][]string{t.header}, t.rows...))
			return b.Bytes(), err
		}
	}
	return nil, fmt.Errorf("%w: table %q", errNotFound, short(name, 40))
}
