package explorer

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// schemes returns the colours of the style sheet, of the light scheme and of the dark one.
func schemes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	raw, err := assets.ReadFile("assets/style.css")
	require.NoError(t, err)
	roots := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllSubmatch(raw, -1)
	require.Len(t, roots, 2)
	colour := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{3,6});`)
	light, dark = map[string]string{}, map[string]string{}
	for i, root := range roots {
		for _, m := range colour.FindAllStringSubmatch(string(root[1]), -1) {
			if i == 0 {
				light[m[1]] = m[2]
			}
			dark[m[1]] = m[2] // the dark scheme keeps what it does not set
		}
	}
	return light, dark
}

// luminance returns the relative luminance of a colour, by WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if hex = hex[1:]; len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		x, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		c := float64(x) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// TestContrast: text has at least the contrast of WCAG's level AA on every ground that it is on, in
// both schemes.
func TestContrast(t *testing.T) {
	light, dark := schemes(t)
	require.NotEqual(t, light["bg"], dark["bg"])
	for name, scheme := range map[string]map[string]string{"light": light, "dark": dark} {
		for text, grounds := range map[string]string{
			"fg": "bg card sunk bad-bg", "soft": "bg card sunk", "accent": "bg card sunk accent-bg",
			"good": "good-bg", "warn": "warn-bg", "bad": "bad-bg card",
		} {
			for _, ground := range strings.Fields(grounds) {
				a, b := luminance(t, scheme[text]), luminance(t, scheme[ground])
				ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05)
				require.GreaterOrEqual(t, ratio, 4.5, "%s: %s on %s", name, text, ground)
			}
		}
	}
}

// TestOneScale: colours and sizes of text are the properties at the top of the style sheet and no
// others.
func TestOneScale(t *testing.T) {
	raw, err := assets.ReadFile("assets/style.css")
	require.NoError(t, err)
	_, rules, ok := strings.Cut(string(raw), "/* Page */")
	require.True(t, ok)
	require.Empty(t, regexp.MustCompile(`#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(`).FindAllString(rules, -1))
	for _, size := range regexp.MustCompile(`font-size: ([^;}]*)`).FindAllStringSubmatch(rules, -1) {
		require.Regexp(t, `^var\(--text[a-z-]*\)$|^\.\d+em$`, strings.TrimSpace(size[1]))
	}
	for _, used := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(string(raw), -1) {
		require.Contains(t, string(raw), used[1]+":", "it is not defined")
	}
}

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
