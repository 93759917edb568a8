// Package keras reads the JSON of Keras models.
package keras
