package main

import (
	"bytes"
	"cmp"
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
	dirs := map[string]*part{} // by the module's folder
	files := map[string]map[string]bool{}
	for _, arch := range architectures {
		lines, err := goListFor(arch, root, "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", program)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			field := strings.Split(line, "\t")
			top := field[2]
			if dirs[top] == nil {
				dirs[top], files[top] = &part{name: field[0], version: field[1]}, map[string]bool{}
			}
			// a package may have a licence of its own, in its folder below the module's
			for dir := field[3]; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
				if err := legalFiles(dir, files[top]); err != nil {
					return nil, err
				}
			}
		}
	}
	parts, err := beside(root)
	if err != nil {
		return nil, err
	}
	for top, p := range dirs {
		p.files = slices.Sorted(maps.Keys(files[top]))
		parts = append(parts, *p)
	}
	var unknown []error
	for i, p := range parts {
		if parts[i].licences, err = licences(p.files); err != nil {
			unknown = append(unknown, fmt.Errorf("%s %s: %w", p.name, p.version, err))
		}
	}
	if err := errors.Join(unknown...); err != nil {
		return nil, err
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.name, b.name),
			cmp.Compare(a.version, b.version))
	})
	return parts, nil
}

// beside returns the parts that are no modules.
func beside(root string) ([]part, error) {
	golang, err := goList("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return []part{
		{name: "Go's standard library", files: []string{filepath.Join(golang[0], "LICENSE"),
			filepath.Join(golang[0], "PATENTS")}},
		{name: "MNIST", files: []string{filepath.Join(root, "mnist/data/README.md")}},
	}, nil
}

// legalFiles adds the licences and notices of one folder.
func legalFiles(dir string, to map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !legal.MatchString(e.Name()):
		case !e.IsDir():
			to[path] = true
		default:
			inside, err := filepath.Glob(filepath.Join(path, "*"))
			if err != nil {
				return err
			}
			for _, f := range inside {
				to[f] = true
			}
		}
	}
	return nil
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

func goList(args ...string) ([]string, error) { return goListFor(runtime.GOARCH, ".", args...) }

// goListFor returns the lines that the command go prints in a folder.
func goListFor(arch, dir string, args ...string) ([]string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("go %v: %w: %s", args, err, bytes.TrimSpace(failed.Stderr))
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}
