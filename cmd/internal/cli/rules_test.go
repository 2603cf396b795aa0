package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/cli/study"
	"github.com/spdl/spdl/krum/rules"
)

// TestRules: every rule is listed with what it is worth for N and f.
func TestRules(t *testing.T) {
	stdout, _, code := spdl(t, "rules", "-n", "20", "-f", "6")
	require.Zero(t, code)
	for _, line := range []string{`bulyan +CANNOT AGGREGATE`, `krum +condition holds +O\(n\^2 d\) +Blanchard`,
		`centered-clipping +condition fails`,
		`\nbulyan +CANNOT AGGREGATE: wants N >= 4f\+1 = 25; condition fails: wants N >= 4f\+3 = 27 `,
		`\nmean +condition fails: wants f = 0 `,
		`\nbucketing\+mda +CANNOT AGGREGATE: wants at least 2f\+1 = 13 buckets; condition fails: wants N' >= 2f\+1 = 13 `,
		`\nbucketing\+krum +condition fails: wants N' >= 2f\+3 = 15 `,
	} {
		require.Regexp(t, line, stdout)
	}
	stdout, _, code = spdl(t, "rules", "--validators", "9")
	require.Zero(t, code)
	require.Regexp(t, `\nbulyan +condition fails: wants N >= 4f\+3 = 11 `, stdout)
	stdout, _, code = spdl(t, "rules", "--validators", "7", "--byzantine", "0", "-o", "json")
	require.Zero(t, code)
	var all []study.RuleReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Len(t, all, len(rules.Names()))
	for _, r := range all {
		require.True(t, r.Holds, r.Name)
		require.NotEmpty(t, r.Cost)
		require.NotEmpty(t, r.Source)
	}
	for text, args := range map[string][]string{
		"--validators is 0":                           {"rules", "--validators", "0"},
		"--byzantine is 4":                            {"rules", "--validators", "4", "--byzantine", "4"},
		"want 0 to 0: N = 1 withstands 0 (N >= 3f+1)": {"rules", "--validators", "1", "--byzantine", "5"},
		"--byzantine is -1":                           {"rules", "--byzantine", "-1"},
	} {
		_, stderr, code := spdl(t, args...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, text)
	}
}
