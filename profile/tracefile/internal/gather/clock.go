package gather

import "time"

// Stamp reads "2006/01/02 15:04:05", also with dashes, with up to nine digits of
// a second and with a zone ("Z", "+08:00"), and reports whether it could.
func (c *Collector) Stamp(text []byte) (time.Time, bool) {
	if body, offset, ok := cutZone(text); ok {
		zoneless, zone := c.Zoneless, c.Zone
		c.Zone, c.lastStamp = time.UTC, [19]byte{}
		at, ok := c.Stamp(body)
		c.Zone, c.Zoneless, c.lastStamp = zone, zoneless, [19]byte{}
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
	year, ok := Digits(text[0:4])
	month, ok2 := Digits(text[5:7])
	day, ok3 := Digits(text[8:10])
	nanos, ok4 := fraction(text[19:])
	t, ok5 := c.Date(year, month, day, text[11:19])
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
		hours, ok1 := Digits(text[at+1 : at+3])
		minutes, ok2 := Digits(text[len(text)-2:])
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
	n, ok := Digits(text[1:])
	for range 10 - len(text) {
		n *= 10
	}
	return n, ok && text[0] == '.' && len(text) > 1 && len(text) <= 10
}

// Date joins a day with a clock time "15:04:05".
func (c *Collector) Date(year, month, day int, clock []byte) (time.Time, bool) {
	if len(clock) != 8 || clock[2] != ':' || clock[5] != ':' {
		return time.Time{}, false
	}
	hour, ok := Digits(clock[0:2])
	minute, ok2 := Digits(clock[3:5])
	second, ok3 := Digits(clock[6:8])
	if !ok || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 || year == 0 {
		return time.Time{}, false
	}
	c.Zoneless = true
	return time.Date(year, time.Month(month), day, hour, minute, second, 0, c.Zone), true
}

// Digits reads up to nine decimal digits.
func Digits(text []byte) (int, bool) {
	n := 0
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int(b-'0')
	}
	return n, len(text) > 0 && len(text) <= 9
}
