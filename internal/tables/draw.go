package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// mark is how a policy is drawn.
type mark struct{ policy, shape, colour string }

// marks are the policies of the picture, ours last, so that they lie above.
func marks() []mark {
	return []mark{
		{"srtf", "M-4 -4L4 4M-4 4L4 -4", "#8c8c8c"},
		{"lucid", "M0 -5L5 4H-5Z", "#b07aa1"},
		{"muri-s", "M0 5L5 -4H-5Z", "#b07aa1"},
		{"greedy-4", "M-4 -4H4V4H-4Z", "#e0a030"},
		{"gfill-4", "M0 -5L5 0L0 5L-5 0Z", "#c8641e"},
		{"gsjf-4", "M0 -5L5 0L0 5L-5 0Z", "#4f9d69"},
		{"colloc", "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z", "#8ab8e0"},
		{"colloc-nostop", "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z", "#1f5f99"},
	}
}

const (
	left, panel, gap = 250, 300, 40
	top, row         = 74, 26
	furthest         = 3.0 // times what is proven; what is beyond stands at the edge
)

// draw draws how far the policies are above what no policy comes below.
func draw(files []file) []byte {
	var titles []string
	var points [][]point
	for _, f := range files {
		for i := range f.studies {
			if p := f.studies[i].above(); len(p) > 0 && f.studies[i].title != "" {
				titles, points = append(titles, f.studies[i].title), append(points, p)
			}
		}
	}
	wide, high := left+2*panel+gap+30, top+row*len(titles)+40
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="How far policies are above what no policy comes below.">`+"\n", wide, high, wide, high)
	b.WriteString(`<style>text { font: 12px sans-serif; fill: #1b1f24; } .head { font-weight: 700; } .soft { fill: #57606a; } .grid { stroke: #d0d7de; }</style>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", wide, high)
	x := 14
	for _, m := range marks() {
		fmt.Fprintf(&b, `%s<text x="%d" y="20">%s</text>`+"\n", m.at(float64(x), 16, m.policy), x+9, m.policy)
		x += 28 + 7*len(m.policy)
	}
	for n, name := range []string{"makespan, times the bound", "mean completion time, times the bound"} {
		from := left + n*(panel+gap)
		fmt.Fprintf(&b, `<text class="head" x="%d" y="46">%s</text>`+"\n", from, name)
		for tick := 1.0; tick <= furthest; tick += 0.5 {
			at := across(from, tick)
			fmt.Fprintf(&b, `<path class="grid" d="M%.1f %dV%d"/><text class="soft" x="%.1f" y="64" text-anchor="middle">%g</text>`+"\n", at, top-6, high-30, at, tick)
		}
	}
	for i, title := range titles {
		y := float64(top + row*i + row/2)
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-14, y+4, html.EscapeString(title))
		for _, m := range marks() {
			for _, p := range points[i] {
				if p.policy != m.policy {
					continue
				}
				b.WriteString(m.at(across(left, p.makespan), y, fmt.Sprintf("%s: %.3f", p.policy, p.makespan)))
				b.WriteString(m.at(across(left+panel+gap, p.jct), y, fmt.Sprintf("%s: %.3f", p.policy, p.jct)) + "\n")
			}
		}
	}
	fmt.Fprintf(&b, `<text class="soft" x="%d" y="%d">Further left is better; 1 is what no policy comes below, and perhaps none reaches. Beyond %g: at the edge.</text>`+"\n</svg>\n", left, high-10, furthest)
	return b.Bytes()
}

// across is where a figure stands in a panel.
func across(from int, times float64) float64 {
	return float64(from) + float64(panel)*(min(max(times, 1), furthest)-1)/(furthest-1)
}

// at is the mark in its place.
func (m *mark) at(x, y float64, title string) string {
	paint := fmt.Sprintf(`fill="%s" stroke="#ffffff" stroke-width="0.7"`, m.colour)
	if !strings.HasSuffix(m.shape, "Z") {
		paint = fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, m.colour)
	}
	return fmt.Sprintf(`<path transform="translate(%.1f %.1f)" d="%s" %s><title>%s</title></path>`, x, y, m.shape, paint, html.EscapeString(title))
}
