package pages

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// schemes returns the colours of the style sheet, of the light scheme and of the dark one.
func schemes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	raw, err := Assets.ReadFile("assets/style.css")
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
	raw, err := Assets.ReadFile("assets/style.css")
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
