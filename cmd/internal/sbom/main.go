// Command sbom writes the bill of materials of a program: the modules that the program was built
// from, as it says itself, with their hashes and licences, in CycloneDX 1.6.
//
//	sbom PROGRAM VERSION NOTICES OUT
//
// NOTICES is docs/NOTICES.md, which names the licences. The same program gives the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM VERSION NOTICES OUT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(program, version, notices, out string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	info.Main.Version = version // a build with -trimpath does not record what -ldflags set
	code, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(notices)
	if err != nil {
		return err
	}
	bom, err := billOf(info, sha256.Sum256(code), licences(string(page)))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	e := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := e.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
}

// billOf returns the bill of a program with a hash, from its build information.
func billOf(info *debug.BuildInfo, hash [32]byte, licence map[string]string) (*cyclonedx.BOM, error) {
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = serial(hash)
	main := component(&info.Main, licence)
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, info.Path
	main.Licenses = &cyclonedx.Licenses{{Expression: "Apache-2.0"}}
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(hash[:])}}
	var settings []cyclonedx.Property
	for _, s := range info.Settings {
		settings = append(settings, cyclonedx.Property{Name: "go:" + s.Key, Value: s.Value})
	}
	main.Properties = &settings
	bom.Metadata = &cyclonedx.Metadata{Component: &main}

	std := component(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")},
		map[string]string{"std": licence["Go's standard library"]})
	all := []cyclonedx.Component{std}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component(m, licence)
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("module %s has the sum %q, want h1: and the base64 of 32 bytes", m.Path, m.Sum)
		}
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
		all = append(all, c)
	}
	bom.Components = &all
	var refs []string
	graph := []cyclonedx.Dependency{{Ref: main.BOMRef}}
	for _, c := range all {
		refs = append(refs, c.BOMRef)
		graph = append(graph, cyclonedx.Dependency{Ref: c.BOMRef})
	}
	graph[0].Dependencies, bom.Dependencies = &refs, &graph
	return bom, nil
}

// component returns the component of a module.
func component(m *debug.Module, licence map[string]string) cyclonedx.Component {
	version := m.Version
	if version == "" {
		version = "(devel)"
	}
	purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + url.PathEscape(version)
	c := cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: version,
		PackageURL: purl}
	if id := licence[m.Path]; id != "" {
		c.Licenses = &cyclonedx.Licenses{{Expression: id}}
	}
	return c
}

// serial returns a UUID in the form of version 5 from a hash, so that one
// program has one bill.
func serial(hash [32]byte) string {
	u := hash[:16]
	u = append([]byte(nil), u...)
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// row matches a part, its version and its licence in NOTICES.md.
var row = regexp.MustCompile(`(?m)^\| (\S[^|]*?) \| [^|]*\| ([^|]+?) \|$`)

// licences returns the SPDX expressions of NOTICES.md by part.
func licences(page string) map[string]string {
	out := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		out[m[1]] = strings.ReplaceAll(m[2], ", ", " AND ")
	}
	return out
}
