package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// part is a third party's work: a module, or another work that is not a module.
type part struct {
	name, version string
	files         []string // its licences and notices
	licences      []string
}

// program is the delivered program, for these architectures.
const program = "./cmd/spdl"

var architectures = []string{"amd64", "arm64"}

// legal are the names of files and folders with licences and notices.
var legal = regexp.MustCompile(`(?i)^(un)?(licen[cs]es?|copying|copyright|notice|patents)` +
	`([-.](md|txt|apache|bsd|mit|sil|link\.txt))?$`)

// find returns all third-party parts of the program, with the licences of each. It fails if a part
// has no known licence.
func find(root string) ([]part, error) {
	golang, err := goList(runtime.GOARCH, root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs := map[string]*part{ // by the module's folder; two parts are no modules
		golang[0]: {name: "Go's standard library", files: legalFiles(golang[0])},
		root:      {name: "MNIST", files: []string{filepath.Join(root, "mnist/data/README.md")}},
	}
	for _, arch := range architectures {
		lines, err := goList(arch, root, "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", program)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			field := strings.Split(line, "\t")
			top := field[2]
			dirs[top] = cmp.Or(dirs[top], &part{name: field[0], version: field[1]})
			// a package may have a licence of its own, in its folder below the module's
			for dir := field[3]; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
				dirs[top].files = append(dirs[top].files, legalFiles(dir)...)
			}
		}
	}
	var parts []part
	var unknown error
	for _, p := range dirs {
		slices.Sort(p.files)
		p.files = slices.Compact(p.files)
		if p.licences, err = licences(p.files); err != nil {
			unknown = errors.Join(unknown, fmt.Errorf("%s %s: %w", p.name, p.version, err))
		}
		parts = append(parts, *p)
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
	})
	return parts, unknown
}

// legalFiles returns the licences and notices of a folder.
func legalFiles(dir string) (files []string) {
	all, _ := filepath.Glob(filepath.Join(dir, "*")) // fails for a malformed pattern alone
	for _, path := range all {
		if !legal.MatchString(filepath.Base(path)) {
			continue
		}
		if inside, _ := filepath.Glob(filepath.Join(path, "*")); len(inside) > 0 {
			files = append(files, inside...)
		} else {
			files = append(files, path)
		}
	}
	return files
}

// marks lists sentences by which a licence is recognised, without spaces and capitals.
var marks = []struct {
	licence string
	mark    *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`apachelicense,?version2\.0`)},
	{"MIT", regexp.MustCompile(`permissionisherebygranted,freeofcharge,toanypersonobtaining`)},
	{"BSD-3-Clause", regexp.MustCompile(`redistributionanduseinsourceandbinaryforms.*neitherthenames?of`)},
	{"BSD-2-Clause", regexp.MustCompile(`redistributionanduseinsourceandbinaryforms`)},
	{"ISC", regexp.MustCompile(`permissiontouse,copy,modify,(and/or|and)distributethissoftware`)},
	{"MPL-2.0", regexp.MustCompile(`mozillapubliclicense,?version2\.0`)},
	{"OFL-1.1", regexp.MustCompile(`silopenfontlicen[cs]eversion1\.1`)},
	{"FTL or GPL-2.0", regexp.MustCompile(`freetype-gosoftwareissubjecttoyourchoiceofexactlyone`)},
	{"Apache-2.0 or MIT", regexp.MustCompile(`spdx-license-identifier:apache-2\.0ormit`)},
	{"CC-BY-4.0", regexp.MustCompile(`creativecommonsattribution4\.0`)},
	{"CC-BY-SA-3.0", regexp.MustCompile(`ccby-sa3\.0`)},
}

// licences names the licences in files by their SPDX identifiers.
func licences(files []string) ([]string, error) {
	found := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text := strings.ToLower(strings.Join(strings.Fields(string(data)), ""))
		three := false // clauses of BSD: the other BSD licence has only two
		for _, m := range marks {
			if !m.mark.MatchString(text) || m.licence == "BSD-2-Clause" && three {
				continue
			}
			found[m.licence] = true
			three = three || m.licence == "BSD-3-Clause"
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no known licence in %q", files)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// goList returns the lines that the command go prints in a folder.
func goList(arch, dir string, args ...string) ([]string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = fmt.Errorf("go %v: %w: %s", args, err, bytes.TrimSpace(failed.Stderr))
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}

// list returns the table of all parts.
func list(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("# Third parties\n\n" +
		"What of others is in the program `spdl`, and under which licence. `make notices` writes this page,\n" +
		"and all licences and notices word for word into `build/NOTICES.txt`, which a release holds. A test\n" +
		"fails when the page is not up to date.\n\n" +
		"| part | version | licence |\n|---|---|---|\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, p.version, strings.Join(p.licences, ", "))
	}
	return b.Bytes()
}

// texts returns all licences and notices, each text once, below a heading with the parts that have it.
func texts(parts []part) ([]byte, error) {
	var order [][]byte
	of := map[[32]byte][]string{}
	for _, p := range parts {
		for _, file := range p.files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r"), nil))
			sum := sha256.Sum256(text)
			if of[sum] == nil {
				order = append(order, text)
			}
			of[sum] = append(of[sum], strings.TrimSpace(p.name+" "+p.version)+", "+filepath.Base(file))
		}
	}
	var b bytes.Buffer
	b.WriteString("spdl holds the work of third parties, under the licences below.\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[sha256.Sum256(text)], "\n"), text)
	}
	return b.Bytes(), nil
}
