package explorer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// structure is what a test reads of a page's elements.
type structure struct {
	headings   []string
	ids        map[string]int
	labels     map[string]bool // ids of fields that have one
	unlabelled []string        // fields, images, drawings and regions without a name
}

func structureOf(t *testing.T, page string) structure {
	t.Helper()
	out := structure{ids: map[string]int{}, labels: map[string]bool{}}
	var fields []string
	doc, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		at := map[string]string{}
		for _, a := range n.Attr {
			at[a.Key] = a.Val
		}
		if id := at["id"]; id != "" {
			out.ids[id]++
		}
		_, alt := at["alt"]
		switch {
		case len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] <= '6':
			out.headings = append(out.headings, n.Data)
		case n.Data == "label":
			out.labels[at["for"]] = true
		case n.Data == "input" || n.Data == "select":
			fields = append(fields, at["id"])
		case n.Data == "img" && !alt,
			(at["role"] == "img" || at["role"] == "region") && at["aria-label"] == "",
			n.Data == "svg" && at["role"] == "" && at["aria-hidden"] == "",
			n.Data == "table" && (n.FirstChild == nil || n.FirstChild.NextSibling == nil),
			n.Data == "th" && at["scope"] == "":
			out.unlabelled = append(out.unlabelled, n.Data)
		}
	}
	for _, id := range fields {
		if !out.labels[id] {
			out.unlabelled = append(out.unlabelled, "input "+id)
		}
	}
	return out
}

// TestPagesCanBeReadOut: each page has one h1 and no heading that skips a level, and every field,
// picture, column and region has a name. The browser test asks axe for the rest.
func TestPagesCanBeReadOut(t *testing.T) {
	s := over(t, newFake(12, "node"), Options{})
	for _, path := range append(everyPage, "/nothing", "/search?q=nobody") {
		if strings.HasPrefix(path, "/v1") {
			continue
		}
		got := structureOf(t, get(s, path).Body.String())
		require.Empty(t, got.unlabelled, path)
		require.Equal(t, "h1", got.headings[0], path)
		for i, h := range got.headings[1:] {
			require.NotEqual(t, "h1", h, path)
			require.LessOrEqual(t, int(h[1]), int(got.headings[i][1])+1, "%s: %v", path, got.headings)
		}
		for id, n := range got.ids {
			require.Equal(t, 1, n, "%s: #%s", path, id)
		}
	}
}
