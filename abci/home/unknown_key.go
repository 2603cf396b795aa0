package home

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/spdl/spdl/internal/spelling"
)

// unknownKey returns the message about the given unknown keys in the given section. The section ""
// is the top of the file. The message has the line of each key, and the nearest known keys.
func unknownKey(file, section string, keys []string, target any) string {
	name, _, list := strings.Cut(section, "[")
	where := ""
	if section != "" {
		where = fmt.Sprintf(" in [%s]", section)
	}
	known := keysOf(reflect.TypeOf(target), name)
	said := make([]string, len(keys))
	for i, key := range keys {
		said[i] = "unknown key " + key + spelling.Suggest(key, known) + where
		if line := lineOf(file, name, key); line > 0 && !list {
			said[i] += fmt.Sprintf(", line %d", line)
		}
	}
	return strings.Join(said, "; ")
}

// keysOf returns the keys of the given section in type t, into which a file is decoded. It returns
// nil if t has no such section.
func keysOf(t reflect.Type, section string) (keys []string) {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		field := t.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		switch {
		case options == "squash":
			keys = append(keys, keysOf(field.Type, section)...)
		case key == "" || key == "-":
		case section == "":
			keys = append(keys, key)
		case key == section:
			return keysOf(field.Type, "")
		}
	}
	return keys
}

// lineOf returns the number of the line in a TOML file that sets the given key of the given
// section. If it finds no such line, it returns 0. It ignores case, because the decoder returns
// keys in lower case.
func lineOf(file, section, key string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	at := ""
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.ToLower(strings.TrimSpace(line))
		header := strings.Trim(line, "[]")
		if strings.HasPrefix(line, "[") {
			at = header
		}
		name, _, _ := strings.Cut(line, "=")
		if at == section && strings.TrimSpace(name) == key || at == key && header == key && section == "" {
			return i + 1
		}
	}
	return 0
}
