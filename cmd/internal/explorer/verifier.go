package explorer

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// wasm and loader are the files of the verifier: the WebAssembly of package verifier, and Go's own
// script that runs it. A build step, make verify-page, writes them into assets. In a program built
// without them, the page says that they are missing.
const wasm, loader = "verify.wasm.gz", "wasm_exec.js"

// verifyPage verifies an exported model in the browser.
type verifyPage struct {
	Available    bool
	Height, Hash string // trusted, filled in; "" where nothing is known
	Blocks       string // address of this page for a block, without its height; "" without an explorer
	Command      string // that verifies a file without a browser
}

// MaxBytes is the max size of a file, Megabytes the same for people.
func (verifyPage) MaxBytes() int  { return modelfile.MaxBytes }
func (verifyPage) Megabytes() int { return modelfile.MaxBytes / 1000000 }

// verifierBuilt reports whether the program holds the files of the verifier.
func verifierBuilt() bool {
	for _, name := range []string{wasm, loader} {
		if f, err := assets.Open("assets/" + name); err != nil || f.Close() != nil {
			return false
		}
	}
	return true
}

// verify is the page that verifies files against the block of ?height=, or a recent one.
func (s *Server) verify(r *http.Request) (content, error) {
	at := uint64(0)
	if q := r.URL.Query().Get("height"); q != "" {
		var err error
		if at, err = number("height", q); err != nil {
			return content{}, err
		}
	}
	b := verifyPage{Available: verifierBuilt(), Blocks: "/verify?height="}
	b.Height, b.Hash = s.header(r.Context(), int64(at))
	b.Command = s.verifyingFrom(b.Height, b.Hash, "model FILE")
	return content{"verify", "Verify a model", b}, nil
}

// WriteVerifyPage writes the page that verifies files into a folder for any web server.
func WriteVerifyPage(dir string) error {
	if !verifierBuilt() {
		return fmt.Errorf("this program was built without %s and %s: make verify-page", wasm, loader)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	page := template.Must(template.New("alone.html").Funcs(functions).ParseFS(assets, "assets/alone.html",
		"assets/templates/verify.html"))
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		Body            verifyPage
		Policy, Version string
	}{verifyPage{Available: true, Command: "spdl verify model FILE --offline --trust-hash HASH"}, alonePolicy,
		version.Version})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), b.Bytes(), 0o644); err != nil {
		return err
	}
	for _, name := range []string{wasm, loader, "verify.js", "verify-worker.js", "style.css", "icon.svg"} {
		body, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
			return err
		}
	}
	return nil
}
