//go:build kube

package kubetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	patience = 5 * time.Minute // for anything that a busy machine should manage
	beat     = 20 * time.Millisecond
	adminKey = "admin-of-one-test" // the token of system:masters
)

// Options is the control plane to start. The zero value allows everything to everybody
// and runs no controllers.
type Options struct {
	// RBAC makes the API server ask RBAC; the cluster's own client stays its master.
	RBAC bool
	// Controllers are the controllers of kube-controller-manager to run, by its names;
	// empty runs none of them.
	Controllers []string
	// PodGroups makes the API server serve those.
	PodGroups bool
}

// Cluster is a control plane that runs.
type Cluster struct {
	// Dir holds everything, Server is the address of the API.
	Dir, Server string
	// Client and Dynamic may do all, without a limit of their own.
	Client  *kubernetes.Clientset
	Dynamic *dynamic.DynamicClient

	tb    testing.TB
	bin   string
	procs []*Process
}

// Process is a program of a cluster.
type Process struct {
	Name string

	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed once it has ended
}

// Start starts a control plane and returns when it answers. It stops when the test ends.
func Start(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	bin := os.Getenv("COLLOC_KUBE_BIN")
	if bin == "" {
		tb.Fatal("COLLOC_KUBE_BIN names no folder: export COLLOC_KUBE_BIN=$(colloc/kube/internal/controlplane/build), or run .ci/kube")
	}
	c := &Cluster{Dir: tb.TempDir(), tb: tb, bin: bin}
	tb.Cleanup(c.stop)
	const tries = 3 // somebody else may take a port before we do
	for try := 1; ; try++ {
		err := c.boot(o)
		if err == nil {
			return c
		}
		if logs := c.Logs(); try == tries {
			tb.Fatalf("the control plane does not start: %v\n%s", err, logs)
		}
		c.stop()
	}
}

// boot starts all programs on ports that are free now.
func (c *Cluster) boot(o Options) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	if err := c.files(ports[2]); err != nil {
		return err
	}
	client, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	etcd := c.Start("etcd", filepath.Join(c.bin, "etcd"), "--data-dir", filepath.Join(c.Dir, "etcd"+ports[0]), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	mode := "AlwaysAllow"
	if o.RBAC {
		mode = "RBAC"
	}
	key := filepath.Join(c.Dir, "sa.key")
	var groups []string
	if o.PodGroups {
		groups = []string{"--feature-gates=GenericWorkload=true", "--runtime-config=api/alpha=true,api/beta=true"}
	}
	api := c.Start("kube-apiserver", filepath.Join(c.bin, "kube-apiserver"), append(groups, "--etcd-servers="+client, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+ports[2],
		"--cert-dir="+c.Dir, "--service-account-key-file="+key, "--service-account-signing-key-file="+key, "--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file="+filepath.Join(c.Dir, "tokens.csv"), "--authorization-mode="+mode, "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
		"--audit-policy-file="+filepath.Join(c.Dir, "audit.yaml"), "--audit-log-path="+c.audit())...)
	if err := c.connect(etcd, api); err != nil {
		return err
	}
	c.Start("kube-scheduler", filepath.Join(c.bin, "kube-scheduler"), "--config="+filepath.Join(c.Dir, "scheduler.yaml"), "--secure-port=0",
		"--pod-max-in-unschedulable-pods-duration=10s") // else five minutes: it counts a claim twice while that is written, and may refuse one beside it
	if len(o.Controllers) > 0 {
		c.Start("kube-controller-manager", filepath.Join(c.bin, "kube-controller-manager"), "--kubeconfig="+c.Kubeconfig(), "--secure-port=0", "--leader-elect=false",
			"--kube-api-qps=5000", "--kube-api-burst=5000", "--controllers="+strings.Join(o.Controllers, ","))
	}
	return nil
}

// connect makes the clients and waits until the API server answers.
func (c *Cluster) connect(needed ...*Process) error {
	config := c.Config()
	var err error
	if c.Client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = "", ""
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	var died error
	ready := patiently(func() bool {
		for _, p := range needed {
			if p.ended() {
				died = fmt.Errorf("%s ended", p.Name)
				return true
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
	})
	if !ready {
		return fmt.Errorf("the API server was not ready in %v", patience)
	}
	return died
}

// Config returns what a client needs that may do all.
func (c *Cluster) Config() *rest.Config { return c.ConfigAs(adminKey) }

// ConfigAs returns what a client with a token needs.
func (c *Cluster) ConfigAs(token string) *rest.Config {
	const protobuf = "application/vnd.kubernetes.protobuf"
	return &rest.Config{
		Host: c.Server, BearerToken: token, ContentConfig: rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf + ",application/json"},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1,
	}
}

// Kubeconfig returns the file that lets a program do all.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "kubeconfig") }

// KubeconfigAs writes a file that lets a program talk to a server with a token, "" for
// the one that may do all.
func (c *Cluster) KubeconfigAs(server, token string) string {
	c.tb.Helper()
	if token == "" {
		token = adminKey
	}
	name := filepath.Join(c.tb.TempDir(), "kubeconfig")
	if err := os.WriteFile(name, kubeconfig(server, token), 0o600); err != nil {
		c.tb.Fatal(err)
	}
	return name
}

func kubeconfig(server, token string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %q}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server, token)
}

// files writes what the programs read.
func (c *Cluster) files(port string) error {
	c.Server = "https://127.0.0.1:" + port
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	scheduler := fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nclientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}\nleaderElection: {leaderElect: false}\n", c.Kubeconfig())
	return errors.Join(
		os.WriteFile(filepath.Join(c.Dir, "sa.key"), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600),
		os.WriteFile(filepath.Join(c.Dir, "tokens.csv"), []byte(adminKey+",admin,admin,\"system:masters\"\n"), 0o600),
		os.WriteFile(c.Kubeconfig(), kubeconfig(c.Server, adminKey), 0o600),
		os.WriteFile(filepath.Join(c.Dir, "scheduler.yaml"), []byte(scheduler), 0o600),
		os.WriteFile(filepath.Join(c.Dir, "audit.yaml"), []byte(auditPolicy), 0o600),
	)
}

// Start starts a program that ends with the cluster.
func (c *Cluster) Start(name, program string, args ...string) *Process {
	c.tb.Helper()
	log, err := os.Create(filepath.Join(c.Dir, fmt.Sprintf("%s.%d.log", name, len(c.procs))))
	if err != nil {
		c.tb.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the program has its own
	p := &Process{Name: name, cmd: exec.Command(program, args...), log: log.Name(), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = log, log, c.Dir
	if err := p.cmd.Start(); err != nil {
		c.tb.Fatal(err)
	}
	c.procs = append(c.procs, p)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in its log
	}()
	return p
}

// Kill ends a program as kill -9 does and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

// Pause stops a program of some name where it is, or lets it go on.
func (c *Cluster) Pause(name string, yes bool) {
	c.tb.Helper()
	signal := syscall.SIGCONT
	if yes {
		signal = syscall.SIGSTOP
	}
	for _, p := range c.procs {
		if p.Name == name && !p.ended() {
			if err := p.cmd.Process.Signal(signal); err != nil {
				c.tb.Fatal(err)
			}
		}
	}
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// CPU returns the seconds of CPU that a program has used so far, children left out.
func (p *Process) CPU() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest))
	const user, system, ticks = 11, 12, 100 // after the name; a tick of /proc is 10 ms everywhere
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc: unreadable times of %s", p.Name)
	}
	u, err1 := strconv.Atoi(fields[user])
	s, err2 := strconv.Atoi(fields[system])
	return time.Duration(u+s) * time.Second / ticks, errors.Join(err1, err2)
}

// CPU returns the CPU seconds of the programs that run, summed by name.
func (c *Cluster) CPU() map[string]float64 {
	c.tb.Helper()
	sum := make(map[string]float64)
	for _, p := range c.procs {
		if p.ended() {
			continue
		}
		d, err := p.CPU()
		if err != nil {
			c.tb.Fatal(err)
		}
		sum[p.Name] += d.Seconds()
	}
	return sum
}

// stop ends all programs, the youngest first.
func (c *Cluster) stop() {
	for _, p := range slices.Backward(c.procs) {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if p.Name == "etcd" || p.Name == "kube-apiserver" { // nobody will ask them again
			_ = p.cmd.Process.Kill()
		}
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
			p.Kill()
		}
	}
	if c.tb.Failed() {
		c.tb.Log(c.Logs())
	}
	c.procs = nil
}

// Logs returns the ends of the logs of all programs.
func (c *Cluster) Logs() string {
	var b strings.Builder
	for _, p := range c.procs {
		text, err := os.ReadFile(p.log)
		if err != nil {
			continue
		}
		const end = 2000
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(p.log), text[max(0, len(text)-end):])
	}
	return b.String()
}

// Await waits until a condition holds, and fails the test if it does not.
func (c *Cluster) Await(what string, holds func() bool) {
	c.tb.Helper()
	if !patiently(holds) {
		c.tb.Fatalf("waited %v: %s", patience, what)
	}
}

// Try waits until a condition holds and reports whether it came to.
func (c *Cluster) Try(holds func() bool) bool { return patiently(holds) }

// patiently asks for some time and reports whether the condition came to hold.
func patiently(holds func() bool) bool {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for end := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// freePorts returns ports of the loopback interface that nobody uses now.
func freePorts(n int) ([]string, error) {
	ports := make([]string, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:errcheck // only at the end, so that no port comes twice
		if _, ports[i], err = net.SplitHostPort(l.Addr().String()); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// auditPolicy notes what the service accounts of the manifests ask for.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:colloc-system", "system:serviceaccounts:colloc-advise"]
- level: None
`

// audit is the file in which the API server notes that.
func (c *Cluster) audit() string { return filepath.Join(c.Dir, "audit.log") }
