package explorer

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The max numbers of rows: of participants, gradients or transactions on a page, of participants in
// a short list, and of names in a sentence.
const perPage, some, few = 100, 20, 10

// A pager holds the links between the pages of a list.
type pager struct {
	Of, From, Until int // rows; From is the first one, from 1 on
	Page, Pages     int
	path            string
	query           url.Values // the rest of the address
}

// pageOf returns the rows of the page that ?page= names, counted from 1. If there are fewer pages,
// it returns those of the last page.
func pageOf[T any](r *http.Request, rows []T) ([]T, pager, error) {
	p := pager{Of: len(rows), Page: 1, Pages: max(1, (len(rows)+perPage-1)/perPage), path: r.URL.Path,
		query: url.Values{}}
	for _, name := range []string{"q", "sort"} {
		if x := r.URL.Query().Get(name); x != "" {
			p.query.Set(name, x)
		}
	}
	if q := r.URL.Query().Get("page"); q != "" {
		x, err := number("page", q)
		if err != nil {
			return nil, p, err
		}
		p.Page = int(min(max(1, x), uint64(p.Pages)))
	}
	first := (p.Page - 1) * perPage
	rows = rows[first:min(first+perPage, len(rows))]
	p.From, p.Until = first+1, first+len(rows)
	return rows, p, nil
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

// listed returns numbers as a list for a sentence.
func listed(of []uint32) string {
	if len(of) == 0 {
		return "none"
	}
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(of), "[]")), ", ")
}

// number parses a part of the path or query.
func number(name, text string) (uint64, error) {
	x, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: %s %q is no number from 0 on", errBad, name, short(text, 40))
	}
	return x, nil
}

func has(list []uint32, x uint32) int {
	if slices.Contains(list, x) {
		return 1
	}
	return 0
}
