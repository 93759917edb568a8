package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"example.com/colloc/colloc/kube/api"
)

// Election is over which Lease replicas agree who decides.
type Election struct {
	// Namespace has the Lease; Identity names this replica.
	Namespace, Identity string
}

// Times of the election: a leader that cannot renew its Lease stops after renewTime, and
// the others take over after leaseTime. The difference is longer than any write.
const (
	leaseTime = 15 * time.Second
	renewTime = 10 * time.Second
	retryTime = 2 * time.Second
)

// ErrLost means that another replica decides now, or may.
var ErrLost = errors.New("controller: the Lease is lost")

// Run watches and decides until ctx is over; with an Election only while this replica
// holds the Lease. Losing it is ErrLost: end the process, so that nothing of it writes
// any more.
func (c *Controller) Run(ctx context.Context, e *Election) error {
	whole := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := c.Watch(ctx); err != nil {
		return err
	}
	if e == nil {
		return c.Lead(ctx)
	}
	var leading sync.Mutex
	var result error // of leading
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: api.LeaseName},
			Client:     c.config.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		},
		LeaseDuration: leaseTime, RenewDeadline: renewTime, RetryPeriod: retryTime,
		ReleaseOnCancel: false, // writes under way may still be done
		Name:            api.LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leads context.Context) {
				leading.Lock()
				defer leading.Unlock()
				result = c.Lead(leads)
				stop() // who cannot lead does not keep the Lease
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("controller: election: %w", err)
	}
	elector.Run(ctx)
	leading.Lock() // until its writes are over
	defer leading.Unlock()
	if result != nil && !errors.Is(result, context.Canceled) {
		return result
	}
	if whole.Err() != nil {
		return whole.Err()
	}
	return ErrLost
}
