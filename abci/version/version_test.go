package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionIsWhatGoNoted: the version is the installed release, or else the commit of the build.
func TestVersionIsWhatGoNoted(t *testing.T) {
	info := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	require.Equal(t, "1.0.0", versionIn(info("v1.0.0"), true))
	require.Equal(t, "1.0.0-rc.1", versionIn(info("v1.0.0-rc.1", commit), true))
	require.Equal(t, "0123456789ab", versionIn(info("(devel)", commit), true))
	require.Equal(t, "0123456789ab-dirty",
		versionIn(info("v0.0.0-20261122150405-0123456789ab+dirty", commit, dirty), true))
	require.Equal(t, Unreleased, versionIn(info("(devel)"), true))
	require.Equal(t, Unreleased, versionIn(nil, false))
}
