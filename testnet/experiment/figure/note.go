package figure

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"hash/crc32"
	"strings"
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

// headerEnd is the position at which a PNG's IHDR chunk ends, after the signature, the
// length, the type, 13 bytes and the checksum.
const headerEnd = 8 + 4 + 4 + 13 + 4

// notePNG puts the notes into iTXt chunks after the header (PNG, third edition, 11.3.3.4).
func notePNG(png []byte, notes []Note) []byte {
	if len(png) < headerEnd {
		return png
	}
	out := append([]byte(nil), png[:headerEnd]...)
	for _, n := range notes {
		body := []byte("iTXt" + strings.ToUpper(n.Name[:1]) + n.Name[1:] + "\x00\x00\x00\x00\x00" + n.Text)
		out = binary.BigEndian.AppendUint32(out, uint32(len(body)-4))
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	}
	return append(out, png[headerEnd:]...)
}
