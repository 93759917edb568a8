package memory

import "example.com/colloc/profile"

// horus is the memory formula of Horus (Yeung et al. 2022, DOI
// 10.1109/TPDS.2021.3079202) as its published estimates follow it: every
// parameter and every output element counts once a sample, in 32 bits.
//
//	memory = 4 B × batch × (parameters + activations)
//
// It returns false for a task without layers.
func horus(s *profile.Spec) (float64, bool) {
	activations, known := s.Model.Activations()
	elements := float64(s.Model.Params()) + float64(activations)
	return 4 * float64(s.Training.BatchSize) * elements, known
}
