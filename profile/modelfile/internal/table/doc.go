// Package table reads the tables headed Layer (type), Output Shape, Param #: of torchinfo,
// torchsummary and Keras.
package table
