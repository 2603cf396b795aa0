package abci

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Version is the software's: set by the build, or what Go noted of the module in the program, or
// Unreleased.
var Version string

func init() {
	if Version == "" { // the linker sets no variable that has an initial value of this kind
		Version = noted(debug.ReadBuildInfo())
	}
}

// Unreleased is the version of a program that was built without one.
const Unreleased = "0.1.0"

// noted returns the version of a module that was installed by its version, without the v, or else
// the commit that was built, with "-dirty" behind it where files had changed.
func noted(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return Unreleased
	}
	if v, tagged := strings.CutPrefix(info.Main.Version, "v"); tagged && !pseudo.MatchString(v) {
		return v
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return Unreleased
	}
	return commit + dirty
}

// pseudo matches the versions that Go makes of a time and a commit.
var pseudo = regexp.MustCompile(`[.-][0-9]{14}-[0-9a-f]{12}`)
