package founding

import "github.com/spdl/spdl/abci/admission"

// Relays returns the relays in a list separated by commas, each as ID@host:port. Its error names
// the first relay that has another form.
func Relays(list string) ([]string, error) {
	if err := admission.CheckRelays(list); err != nil {
		return nil, err
	}
	return admission.SplitList(list), nil
}
