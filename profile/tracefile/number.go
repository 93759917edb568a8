package tracefile

import (
	"math"
	"strconv"
	"time"
)

// reading is what became of a cell of a log.
type reading int

const (
	known   reading = iota
	missing         // the log says that it is not known
	garbled         // no number
)

// powersOfTen are exact.
//
//nolint:gochecknoglobals // read-only table
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// number reads a decimal number or one of the many ways to say that there is
// none. Plain numbers of up to 15 digits, nearly all there are, take the short
// way; it gives the same value as strconv.
func number(cell []byte) (float64, reading) {
	var mantissa uint64
	digits, point := 0, -1
	for i, b := range cell {
		switch {
		case b >= '0' && b <= '9':
			mantissa = mantissa*10 + uint64(b-'0')
			digits++
		case b == '.' && point < 0:
			point = digits
		default:
			return slowNumber(cell, i)
		}
		if digits > 15 {
			return slowNumber(cell, i)
		}
	}
	switch {
	case digits == 0:
		return slowNumber(cell, 0)
	case point < 0:
		return blank(float64(mantissa))
	}
	return blank(float64(mantissa) / powersOfTen[digits-point])
}

func slowNumber(cell []byte, plain int) (float64, reading) {
	if plain == 0 && (len(cell) == 0 || len(cell) == 1 && cell[0] == '-' || cell[0] == '[' || cell[0] == 'N' || cell[0] == 'E') {
		if len(cell) > 0 && cell[0] == '[' && cell[len(cell)-1] == ']' {
			return 0, missing // [N/A], [GPU is lost] and whatever else nvidia-smi has to say
		}
		switch string(cell) {
		case "", "-", "N/A", "NaN", "ERR!", "Not Supported":
			return 0, missing
		}
	}
	v, err := strconv.ParseFloat(string(cell), 64)
	switch {
	case err != nil:
		return 0, garbled
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, missing
	}
	return blank(v)
}

// blank turns DCGM's blank values into missing: the last sixteen 64-bit
// integers, and 2^47 with a cause in the last bits for floating-point fields.
func blank(v float64) (float64, reading) {
	const blankFloat = 140737488355328
	if v >= math.MaxInt64 || v >= blankFloat && v <= blankFloat+3 {
		return 0, missing
	}
	return v, known
}

// stamp reads "2006/01/02 15:04:05", also with dashes, with up to nine digits of
// a second and with a zone ("Z", "+08:00"), and reports whether it could.
func (c *collector) stamp(text []byte) (time.Time, bool) {
	if body, offset, ok := cutZone(text); ok {
		zoneless, zone := c.zoneless, c.zone
		c.zone, c.lastStamp = time.UTC, [19]byte{}
		at, ok := c.stamp(body)
		c.zone, c.zoneless, c.lastStamp = zone, zoneless, [19]byte{}
		return at.Add(-offset), ok
	}
	if len(text) >= 19 && string(text[:19]) == string(c.lastStamp[:]) { // many rows share a second
		nanos, ok := fraction(text[19:])
		return c.lastTime.Add(time.Duration(nanos)), ok
	}
	if len(text) < 19 || text[10] != ' ' && text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
		text[4] != text[7] || text[4] != '/' && text[4] != '-' {
		return time.Time{}, false
	}
	year, ok := digits(text[0:4])
	month, ok2 := digits(text[5:7])
	day, ok3 := digits(text[8:10])
	nanos, ok4 := fraction(text[19:])
	t, ok5 := c.date(year, month, day, text[11:19])
	if !ok || !ok2 || !ok3 || !ok5 {
		return time.Time{}, false
	}
	c.lastStamp, c.lastTime = [19]byte(text), t
	return t.Add(time.Duration(nanos)), ok4
}

// cutZone cuts "Z" or "+08:00" off a time; false is a time without a zone.
func cutZone(text []byte) (body []byte, offset time.Duration, ok bool) {
	if len(text) < 20 {
		return nil, 0, false
	}
	if last := len(text) - 1; text[last] == 'Z' {
		return text[:last], 0, true
	}
	for _, n := range []int{6, 5} { // with and without a colon
		at := len(text) - n
		if at < 19 || text[at] != '+' && text[at] != '-' || n == 6 && text[at+3] != ':' {
			continue
		}
		hours, ok1 := digits(text[at+1 : at+3])
		minutes, ok2 := digits(text[len(text)-2:])
		if !ok1 || !ok2 || hours > 15 || minutes > 59 {
			return nil, 0, false
		}
		offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
		if text[at] == '-' {
			offset = -offset
		}
		return text[:at], offset, true
	}
	return nil, 0, false
}

// fraction reads ".789" as nanoseconds.
func fraction(text []byte) (int, bool) {
	if len(text) == 0 {
		return 0, true
	}
	n, ok := digits(text[1:])
	for range 10 - len(text) {
		n *= 10
	}
	return n, ok && text[0] == '.' && len(text) > 1 && len(text) <= 10
}

// date joins a day with a clock time "15:04:05".
func (c *collector) date(year, month, day int, clock []byte) (time.Time, bool) {
	if len(clock) != 8 || clock[2] != ':' || clock[5] != ':' {
		return time.Time{}, false
	}
	hour, ok := digits(clock[0:2])
	minute, ok2 := digits(clock[3:5])
	second, ok3 := digits(clock[6:8])
	if !ok || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 || year < 1 {
		return time.Time{}, false
	}
	c.zoneless = true
	return time.Date(year, time.Month(month), day, hour, minute, second, 0, c.zone), true
}

// digits reads up to nine decimal digits.
func digits(text []byte) (int, bool) {
	n := 0
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int(b-'0')
	}
	return n, len(text) > 0 && len(text) <= 9
}
