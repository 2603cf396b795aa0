package pages

import (
	"maps"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// setting is one parameter of the chain, by its path in genesis.
type setting struct {
	Name, Value string
	params.Meaning
	Preset string // the value of the preset; "" if equal or unknown
}

// settingsPage shows the parameters of the running epoch beside those of a preset.
type settingsPage struct {
	Settings     []setting
	Epoch        uint64
	Preset       string // "" if there is no preset to compare with
	Participants int    // for which the preset is made
	Table        *params.Table
}

// settingGroup is the parameters of one part of genesis.
type settingGroup struct {
	Name     string
	Settings []setting
}

// Groups returns the settings grouped by the first part of their path, which is the name of the group. Settings with
// one part are those of the chain, whose group comes first.
func (b settingsPage) Groups() []settingGroup {
	chain, parts := settingGroup{Name: "chain"}, []settingGroup{}
	for _, set := range b.Settings { // in the order of their names
		name, _, found := strings.Cut(set.Name, ".")
		if !found {
			chain.Settings = append(chain.Settings, set)
			continue
		}
		if n := len(parts); n == 0 || parts[n-1].Name != name {
			parts = append(parts, settingGroup{Name: name})
		}
		last := &parts[len(parts)-1]
		last.Settings = append(last.Settings, set)
	}
	return append([]settingGroup{chain}, parts...)
}

// settings shows the parameters that genesis or the last epoch set.
func settings(r *Request) Content {
	p, now := chainview.Ask[params.Params](r.Reader, "/params"), r.Course()
	b := settingsPage{Epoch: now.Status.Epoch, Participants: now.Status.Participants, Table: p.Model.Table}
	of := func(p params.Params) map[string]string {
		all, err := params.Settings(p)
		r.Fail(err)
		return all
	}
	usual := map[string]string{}
	if made, err := preset.New(p.Preset, now.Status.Participants); err == nil {
		usual, b.Preset = of(made), p.Preset
	}
	b.compare(of(p), usual)
	return Content{"params", "Parameters", b}
}

// compare sets the page's settings, in the order of their names. now holds the values of the running epoch, usual those
// of the preset.
func (b *settingsPage) compare(now, usual map[string]string) {
	all := maps.Clone(now)
	maps.Copy(all, usual)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		set := setting{Name: name, Meaning: params.Meanings[name], Value: orUnset(now, name)}
		if b.Preset != "" && now[name] != usual[name] {
			set.Preset = orUnset(usual, name)
		}
		b.Settings = append(b.Settings, set)
	}
}

// orUnset returns the value of a name, or a text that it is not set: parameters leave out values
// that are 0, false or empty.
func orUnset(of map[string]string, name string) string {
	if value, ok := of[name]; ok {
		return value
	}
	return params.NotSet
}
