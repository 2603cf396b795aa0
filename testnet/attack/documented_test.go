package attack_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
)

// document returns the text of a file of docs.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	require.NoError(t, err)
	return string(text)
}

// listed returns the names in the first column of the table with a header.
func listed(t *testing.T, page, header string) (names []string) {
	t.Helper()
	_, table, found := strings.Cut(page, header)
	require.True(t, found, header)
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[2:] {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			names = append(names, name[1])
		}
	}
	return names
}

// TestDocumented: the documents list every rule, attack and behaviour, and no other, and docs/FIDELITY.md
// counts them.
func TestDocumented(t *testing.T) {
	var plain, attacks []string
	for _, name := range rules.Names() {
		if !strings.Contains(name, "+") {
			plain = append(plain, name)
		}
	}
	for _, name := range attack.Names() {
		if base, variant, _ := strings.Cut(name, "+"); !strings.HasPrefix(name, "hidden-") {
			attacks = append(attacks, name)
		} else if variant == "" {
			attacks = append(attacks, base)
		}
	}
	page := document(t, "RULES.md")
	require.ElementsMatch(t, plain, listed(t, page, "| name | Delta |"))
	require.ElementsMatch(t, attacks, slices.DeleteFunc(listed(t, page, "| attack | what the attackers send |"),
		func(name string) bool { return strings.HasPrefix(name, "+") })) // variants
	require.ElementsMatch(t, attack.Kinds(), listed(t, document(t, "LOCALNET.md"), "| kind | "))
	fidelity := document(t, "FIDELITY.md")
	require.Contains(t, fidelity, fmt.Sprintf("| %d rules, each also after mixing or bucketing |", len(plain)))
	require.Contains(t, fidelity, fmt.Sprintf("| %d attacks on gradients, %d behaviours of real nodes |",
		len(attack.Names()), len(attack.Kinds())))
}
