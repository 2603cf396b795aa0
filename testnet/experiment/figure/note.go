package figure

import (
	"bytes"
	"encoding/xml"
)

// Note is one line of provenance: the command, the seeds, the version.
type Note struct{ Name, Text string }

// noteSVG puts the notes into the drawing's description.
func noteSVG(svg []byte, notes []Note) []byte {
	start := bytes.Index(svg, []byte("<svg"))
	if start < 0 {
		return svg
	}
	end := bytes.IndexByte(svg[start:], '>')
	if end < 0 {
		return svg
	}
	var desc bytes.Buffer
	desc.WriteString("\n<desc>")
	for _, n := range notes {
		_ = xml.EscapeText(&desc, []byte(n.Name+": "+n.Text)) // a buffer takes everything
		desc.WriteByte('\n')
	}
	desc.WriteString("</desc>")
	at := start + end + 1
	return append(append(append([]byte(nil), svg[:at]...), desc.Bytes()...), svg[at:]...)
}
