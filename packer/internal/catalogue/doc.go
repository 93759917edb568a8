// Package catalogue values all multisets of task types, or those up to some size, and
// walks over them at prices: which sets earn most beyond what their types cost. Of
// sets that are not listed it knows bounds, where company only hurts, and asks as few
// questions as it can.
package catalogue
