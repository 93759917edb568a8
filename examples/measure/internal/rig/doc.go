// Package rig is what cells run on: a GPU that can be shared, with the means to watch it
// and to start workloads on it, and with nobody else there. It changes nothing on the
// GPU. Package simulated has a rig without one.
package rig
