package pages

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"net/url"
	"strconv"

	"github.com/spdl/spdl/cmd/internal/chainview"
)

// A table is the data of a picture, as a CSV file at the address of its page. It holds numbers, and words of the
// explorer. It holds no text of the chain, because a spreadsheet might take such a text for a formula.
type table struct {
	name   string // of the file, without .csv
	header []string
	rows   [][]string
}

// add appends a row. A nil pointer is an empty cell.
func (t *table) add(values ...any) {
	row := make([]string, len(values))
	for i, v := range values {
		if x, is := v.(*float64); !is {
			row[i] = fmt.Sprint(v)
		} else if x != nil {
			row[i] = fmt.Sprint(*x)
		}
	}
	t.rows = append(t.rows, row)
}

// tabled is the body of a page with tables.
type tabled interface{ tables() []table }

// Table returns one of a page's tables as CSV.
func Table(v Content, name string) ([]byte, error) {
	if body, ok := v.Body.(tabled); ok {
		for _, t := range body.tables() {
			if t.name == name {
				var b bytes.Buffer
				err := csv.NewWriter(&b).WriteAll(append([][]string{t.header}, t.rows...))
				return b.Bytes(), err
			}
		}
	}
	return nil, fmt.Errorf("%w: table %q", chainview.ErrNotFound, Short(name, 40))
}

// perPage is the max number of participants, gradients or transactions on a page.
const perPage = 100

// A pager holds the links between the pages of a list.
type pager struct {
	Of, From, Until int // rows; From is the first one, from 1 on
	Page, Pages     int
	path            string
	query           url.Values // the rest of the address
}

// pageOf returns the rows of the page that ?page= names, counted from 1. If there are fewer pages,
// it returns those of the last page.
func pageOf[T any](r *Request, rows []T) ([]T, pager) {
	p := pager{Of: len(rows), Pages: max(1, (len(rows)+perPage-1)/perPage), path: r.URL.Path, query: url.Values{}}
	if x := r.Value("q"); x != "" {
		p.query.Set("q", x)
	}
	p.Page = int(min(max(1, r.NumberOr("page", 1)), uint64(p.Pages)))
	first := (p.Page - 1) * perPage
	rows = rows[first:min(first+perPage, len(rows))]
	p.From, p.Until = first+1, first+len(rows)
	return rows, p
}

// Before and Next are the addresses of the previous and the next page, "" if there is none.
func (p pager) Before() string { return p.address(p.Page - 1) }
func (p pager) Next() string   { return p.address(p.Page + 1) }

func (p pager) address(page int) string {
	if page < 1 || page > p.Pages {
		return ""
	}
	q := maps.Clone(p.query)
	q.Set("page", strconv.Itoa(page))
	return p.path + "?" + q.Encode()
}
