// Package pretrained holds models that were fitted beforehand, so that colloc
// answers without data and without a GPU.
//
// The files are coefficients of the predictors, written by the
// program in the folder generate and embedded in the binary. They hold no
// training rows. Each carries its provenance: which measurements, under which
// licence, on which GPU, how many. What the models are good for and what they
// must not be used for is in docs/model-card-memory.md and
// docs/model-card-speed.md. Every call returns a model of its
// own, free to learn; those that do not learn may be one.
package pretrained
