package abci

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Version is the software version: set by the build, otherwise the one in the program's build info,
// otherwise Unreleased.
var Version string

func init() {
	if Version == "" { // the linker sets no variable that is initialized by a call
		Version = noted(debug.ReadBuildInfo())
	}
}

// Unreleased is the version of a program that was built without one.
const Unreleased = "0.1.0"

// noted returns the module's version without its v if the module was installed by version.
// Otherwise it returns the commit of the build, with "-dirty" appended if files had changed.
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

// pseudo matches Go's pseudo-versions, made of a time and a commit.
var pseudo = regexp.MustCompile(`[.-][0-9]{14}-[0-9a-f]{12}`)

// CometVersion returns the version of CometBFT that was linked. CometBFT's own constant says 0.39.0
// in v0.40.0.
func CometVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/cometbft/cometbft" {
				return strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return "unknown"
}
