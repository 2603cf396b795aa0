package abci_test

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/version"
)

// TestVersionIsWhatGoNoted: the version is the installed release, or else the commit of the build.
func TestVersionIsWhatGoNoted(t *testing.T) {
	info := func(release string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: release}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	require.Equal(t, "1.0.0", version.Of(info("v1.0.0"), true))
	require.Equal(t, "1.0.0-rc.1", version.Of(info("v1.0.0-rc.1", commit), true))
	require.Equal(t, "0123456789ab", version.Of(info("(devel)", commit), true))
	require.Equal(t, "0123456789ab-dirty",
		version.Of(info("v0.0.0-20261122150405-0123456789ab+dirty", commit, dirty), true))
	require.Equal(t, version.Unreleased, version.Of(info("(devel)"), true))
	require.Equal(t, version.Unreleased, version.Of(nil, false))
}
