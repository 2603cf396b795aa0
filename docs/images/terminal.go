//go:build ignore

// Command terminal records what a command prints and writes it as an animated SVG:
//
//	go run docs/images/terminal.go -o docs/images/demo.svg -shown "make demo" build/spdl testnet start
//
// The picture plays in -play seconds whatever the command took, holds its end, and begins again. A
// reader who asks for reduced motion sees the end.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	columns, rows = 100, 22
	cell, leading = 7.8, 18.0 // width of a character and height of a line, in pixels
	margin        = 14.0
)

func main() {
	out := flag.String("o", "terminal.svg", "file to write")
	shown := flag.String("shown", "", "command line to show at the prompt (default: the command)")
	play := flag.Duration("play", 12*time.Second, "time that the command's output takes in the picture")
	hold := flag.Duration("hold", 4*time.Second, "time for which the end is shown")
	flag.Parse()
	if *shown == "" {
		*shown = strings.Join(flag.Args(), " ")
	}
	lines, at, err := record(flag.Args())
	if err == nil {
		err = os.WriteFile(*out, []byte(picture(append([]string{"$ " + *shown}, lines...), at, *play, *hold)), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// record runs a command and returns the lines of its output with the time of each.
func record(argv []string) (lines []string, at []time.Duration, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	for s := bufio.NewScanner(pipe); s.Scan(); {
		for text := s.Text(); ; text = text[columns:] {
			lines, at = append(lines, text[:min(len(text), columns)]), append(at, time.Since(start))
			if len(text) <= columns {
				break
			}
		}
	}
	return lines, at, cmd.Wait()
}

// picture returns the SVG: the lines as one column of text that moves up a line at each line's time.
func picture(lines []string, at []time.Duration, play, hold time.Duration) string {
	width, height := columns*cell+2*margin, rows*leading+2*margin
	offset := func(shown int) float64 { return float64(rows-shown) * leading } // the last shown line is at the bottom
	total := play + hold
	var frames, text strings.Builder
	fmt.Fprintf(&frames, "0%%{transform:translateY(%.0fpx)}", offset(1))
	for i := range at {
		when := 100 * float64(play) / float64(total) * float64(at[i]) / float64(at[len(at)-1])
		fmt.Fprintf(&frames, "%.2f%%{transform:translateY(%.0fpx)}", when, offset(i+2))
	}
	for i, line := range lines {
		fmt.Fprintf(&text, "<text y=\"%.0f\">%s</text>\n", margin+leading*float64(i+1)-4, html.EscapeString(line))
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" role="img">
<title>%s</title>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d7dde5;white-space:pre}
.column{transform:translateY(%.0fpx)}
@media (prefers-reduced-motion:no-preference){
.column{animation:up %.1fs steps(1,end) infinite}
}
@keyframes up{%s100%%{transform:translateY(%.0fpx)}}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#12161c"/>
<svg x="%.0f" y="0" width="%.0f" height="%.0f"><g class="column">
%s</g></svg>
</svg>
`, width, height, width, html.EscapeString(lines[0]), offset(len(lines)), total.Seconds(), frames.String(),
		offset(len(lines)), margin, columns*cell, height-margin, text.String())
}
