package params

import (
	"crypto/sha256"
	"fmt"
)

// UnitGroup is the value of Privacy.Unit if the guarantee hides a whole group of examples. An empty
// unit means one example.
const UnitGroup = "group"

// Neighbours returns a sentence that says which pairs of data sets count as neighbours in the privacy guarantee.
func (p Privacy) Neighbours() string {
	switch {
	case p.Unit == UnitGroup:
		return "neighbouring data sets differ by one group of one participant, all its examples added or removed together"
	case p.SamplingRate == 0:
		return "neighbouring data sets differ by one example of one participant, replaced by one whose gradient is zero"
	}
	return "neighbouring data sets differ by one example of one participant, added or removed"
}

// Units returns the plural noun for the unit that is sampled, clipped and counted.
func (p Privacy) Units() string {
	if p.Unit == UnitGroup {
		return "groups"
	}
	return "examples"
}

// UnitName returns what the unit of privacy is: "example", "group:COLUMN" of a table, "group" if a
// file of each participant has the groups of its images, or "group-by-config:HASH" of an external
// model. There the trainer names the groups, as config tells it, and the SHA-256 hash of config stands for
// what the chain cannot read. Spends of units with different names cannot be added.
func (p Params) UnitName() string {
	switch {
	case p.Privacy.Unit != UnitGroup:
		return "example"
	case p.Model.Kind == ModelExternal:
		return fmt.Sprintf("%s-by-config:%x", UnitGroup, sha256.Sum256([]byte(p.Model.Config)))
	case p.Model.Table != nil:
		return UnitGroup + ":" + p.Model.Table.Group
	}
	return UnitGroup
}

// GroupsImages reports whether the unit of privacy is a group of images. Older programs, which
// cannot read files of groups, reject such parameters.
func (p Params) GroupsImages() bool {
	return p.Privacy.Unit == UnitGroup && p.Model.Table == nil && p.Model.Kind != ModelExternal
}

// validateUnit checks the unit of privacy, and that a table has a group column if the unit is a
// group. Images and external models need no setting here: a file of each participant has the groups
// of images, and the trainer of an external model knows the groups of its examples.
func (p Params) validateUnit() error {
	grouped := p.Model.Table != nil && p.Model.Table.Group != ""
	switch unit := p.Privacy.Unit; {
	case unit != "" && unit != UnitGroup:
		return fmt.Errorf("privacy.unit is %.64q, want %q, or nothing for an example", unit, UnitGroup)
	case unit == "" && grouped:
		return fmt.Errorf("model.table.group is %.64q without privacy.unit %q: the groups would not be protected",
			p.Model.Table.Group, UnitGroup)
	case unit == "":
		return nil
	case !grouped && p.Model.Table != nil:
		return fmt.Errorf("privacy.unit is %q and model.table names no column group", unit)
	case p.Privacy.Mechanism != MechanismGaussian:
		return fmt.Errorf("privacy.unit is %q with mechanism %q, want %q", unit, p.Privacy.Mechanism, MechanismGaussian)
	case p.Privacy.SamplingRate == 0:
		return fmt.Errorf("privacy.unit is %q with batches of fixed size: want privacy.sampling_rate above 0", unit)
	}
	return nil
}
