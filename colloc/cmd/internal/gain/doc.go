// Package gain is colloc gain: what sharing would have gained a site, from its own past.
package gain
