// Package lifetime says how long tasks still run when nobody knows it: by how long those
// that ended ran, and by how long each has run already. Where most tasks are short and a
// few run for days, who has run for long has still more before it, and where all are
// equally long, less.
package lifetime
