// Package version names the version of this program and of the CometBFT that it links.
package version

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Version is the software version. If the build does not set Version, it comes from the program's
// build info. If the build info has no version, it is Unreleased.
var Version string

func init() {
	if Version == "" { // the linker cannot set a variable that a call initializes
		Version = Of(debug.ReadBuildInfo())
	}
}

// Unreleased is the version of a program that was built without a version.
const Unreleased = "0.1.0"

// Of returns the version in a program's build info. For a program that was installed by version, that is the
// module's version without the v. For any other program it is the commit, with "-dirty" if files had changed.
func Of(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return Unreleased
	}
	if v, tagged := strings.CutPrefix(info.Main.Version, "v"); tagged && !pseudoVersion.MatchString(v) {
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

// pseudoVersion matches Go's pseudo-versions, which consist of a time and a commit.
var pseudoVersion = regexp.MustCompile(`[.-][0-9]{14}-[0-9a-f]{12}`)

// CometBFT returns the version of the linked CometBFT. CometBFT's own constant says 0.39.0 in
// v0.40.0, so the function reads the build info.
func CometBFT() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/cometbft/cometbft" {
				return strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return "unknown"
}
