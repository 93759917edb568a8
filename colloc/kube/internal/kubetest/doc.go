// Package kubetest starts a private Kubernetes control plane for tests: etcd and the
// stock kube-apiserver, kube-scheduler and kube-controller-manager, with nodes and
// GPUs that do not exist and a kubelet that only writes what a kubelet writes.
//
// Everything listens on the loopback interface, on ports that were free, and lives in
// one temporary directory. It ends with the test, however that ends, if TestMain calls
// testbed.Prepare.
//
// [Faults] is an API server that fails now and then; [Check] judges a cluster by what
// its API says and by nothing else.
//
// All of it is tests, with the build tag kube. One command builds what they start and
// runs them:
//
//	.ci/kube
package kubetest
