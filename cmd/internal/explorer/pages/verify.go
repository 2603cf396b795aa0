package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// AlonePolicy is the Content-Security-Policy of the page that verifies files when it is opened without an explorer,
// and VerifierPolicy is that of the same page and its worker in an explorer. Both allow WebAssembly.
const (
	AlonePolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'"
	VerifierPolicy = AlonePolicy + "; frame-ancestors 'none'"
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
		if f, err := Assets.Open("assets/" + name); err != nil || f.Close() != nil {
			return false
		}
	}
	return true
}

// verify is the page that verifies files against the block of ?height=, or a recent one.
func verify(r *Request) Content {
	b := verifyPage{Available: verifierBuilt(), Blocks: "/verify?height="}
	b.Command, b.Height, b.Hash = r.verifying(int64(r.NumberOr("height", 0)), "model FILE")
	return Content{"verify", "Verify a model", b}
}

// WriteVerifyPage writes the page that verifies files into a folder for any web server.
func WriteVerifyPage(dir string) error {
	if !verifierBuilt() {
		return fmt.Errorf("this program was built without %s and %s: make verify-page", wasm, loader)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	page := template.Must(template.New("alone.html").Funcs(functions).ParseFS(Assets, "assets/alone.html",
		"assets/templates/verify.html"))
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		Body            verifyPage
		Policy, Version string
	}{verifyPage{Available: true, Command: "spdl verify model FILE --offline --trust-hash HASH"}, AlonePolicy,
		version.Version})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), b.Bytes(), 0o644); err != nil {
		return err
	}
	for _, name := range []string{wasm, loader, "verify.js", "verify-worker.js", "style.css", "icon.svg"} {
		if err := os.WriteFile(filepath.Join(dir, name), asset(name), 0o644); err != nil {
			return err
		}
	}
	return nil
}
