package testnet_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet/attack"
)

// document returns the text of a file of docs.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
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

// TestDocumented: the documents list every rule, attack and behaviour, and no other, and docs/REPRODUCTION.md
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
	for _, table := range []struct {
		file, header string
		names        []string
	}{
		{"RULES.md", "| name | Delta |", plain},
		{"RULES.md", "| rule | numerators |", plain},
		{"RULES.md", "| attack | what the attackers send |", attacks},
		{"LAB.md", "| kind | ", attack.Kinds()},
	} {
		rows := slices.DeleteFunc(listed(t, document(t, table.file), table.header),
			func(name string) bool { return strings.HasPrefix(name, "+") }) // variants
		for _, name := range table.names {
			assert.True(t, slices.Contains(rows, name), "docs/%s: the table %q has no row for %q", table.file, table.header,
				name)
		}
		for _, name := range rows {
			assert.True(t, slices.Contains(table.names, name), "docs/%s: the table %q has a row for %q, which is not there",
				table.file, table.header, name)
		}
		assert.Len(t, rows, len(table.names), "docs/%s: rows of the table %q", table.file, table.header)
	}
	elements := document(t, "REPRODUCTION.md")
	for _, count := range []string{
		fmt.Sprintf("| %d rules, each also after mixing or bucketing |", len(plain)),
		fmt.Sprintf("| %d attacks on gradients, %d behaviours of real nodes |", len(attack.Names()), len(attack.Kinds())),
	} {
		assert.True(t, strings.Contains(elements, count), "docs/REPRODUCTION.md, section 18, does not say %q", count)
	}
}
