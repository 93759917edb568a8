package colloc

import (
	"sync"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// peaks is a [predict.Memory] that any number of goroutines may ask while one
// teaches it.
type peaks struct {
	mu    sync.RWMutex
	model *predict.Memory
}

// Peak is that of [predict.Memory].
func (p *peaks) Peak(spec *profile.Spec, host predict.Host) (predict.Estimate, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.model.Peak(spec, host)
}

// Reserve is that of [predict.Memory].
func (p *peaks) Reserve(spec *profile.Spec, host predict.Host, risk float64) (profile.Bytes, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.model.Reserve(spec, host, risk)
}

// observe learns from what was seen.
func (p *peaks) observe(seen []predict.MemoryObservation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range seen {
		if err := p.model.Observe(o); err != nil {
			return err
		}
	}
	return nil
}
