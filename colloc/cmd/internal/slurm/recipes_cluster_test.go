//go:build slurm

package slurm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/slurm"
	"example.com/colloc/internal/slurmtest"
)

// tells is what the task of a recipe says of itself, one line a process.
const tells = `echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES cpus=$SLURM_CPUS_PER_TASK omp=$OMP_NUM_THREADS node=$NODE_RANK/$NNODES rank=$RANK/$WORLD_SIZE at=${MASTER_ADDR:+set} from=$FROM_SETUP group=$WANDB_RUN_GROUP grow=$TF_FORCE_GPU_ALLOW_GROWTH mib=$COLLOC_GPU_MEMORY_MIB own=${COLLOC_SCRATCH:+$([ -d "$TMPDIR" ] && echo yes)}"`

// recipe is one way to run tasks: the flags of new, what Slurm then says of the job, and
// what the tasks say.
type recipe struct {
	name    string
	flags   []string
	command []string
	job     []string // of scontrol show job
	header  []string
	lines   []string // of all tasks, sorted; # is any digits
}

func recipes() []recipe {
	script := []string{"bash", "-c", tells}
	one := `0 0,1,2,3 cpus=8 omp=8 node=0/1 rank=/ at=set from=yes group= grow= mib= own=`
	node := func(n int) string {
		return fmt.Sprintf("%d 0,1,2,3 cpus=8 omp=8 node=%d/2 rank=/ at=set from= group= grow= mib= own=", n, n)
	}
	return []recipe{
		{
			"one node, several GPUs",
			[]string{"-gpus", "4", "-cpus", "8", "-memory", "1GiB", "-setup", "export FROM_SETUP=yes"},
			script,
			[]string{"NumNodes=1", "NumCPUs=8", "MinMemoryNode=1G", "TresPerNode=gres:gpu:4"},
			nil,
			[]string{one},
		},
		{
			"several nodes, a process each",
			[]string{"-gpus", "4", "-nodes", "2", "-cpus", "8", "-memory", "1GiB", "-requeue", "-warn", "1m"},
			script,
			[]string{"NumNodes=2", "NumCPUs=16", "NumTasks=2", "Requeue=1", "TresPerNode=gres:gpu:4"},
			[]string{"--signal=B:USR1@60"},
			[]string{node(0), node(1)},
		},
		{
			"several nodes, ranks",
			[]string{"-gpus", "2", "-nodes", "2", "-cpus", "4", "-memory", "1GiB", "-launch", "ranks"},
			script,
			[]string{"NumNodes=2", "NumTasks=4", "CPUs/Task=2"},
			nil,
			[]string{
				"0 #,# cpus=2 omp=2 node=/ rank=0/4 at=set from= group= grow= mib= own=", "1 #,# cpus=2 omp=2 node=/ rank=1/4 at=set from= group= grow= mib= own=",
				"2 #,# cpus=2 omp=2 node=/ rank=2/4 at=set from= group= grow= mib= own=", "3 #,# cpus=2 omp=2 node=/ rank=3/4 at=set from= group= grow= mib= own=",
			},
		},
		{
			"several nodes, torchrun",
			[]string{"-gpus", "2", "-nodes", "2", "-cpus", "4", "-memory", "1GiB", "-launch", "torchrun", "-setup", "PATH=.:$PATH"},
			[]string{"train.py", "a b"},
			[]string{"NumNodes=2", "NumTasks=2"},
			nil,
			[]string{`torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=# --rdzv_endpoint=g#:# train.py a b`, `torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=# --rdzv_endpoint=g#:# train.py a b`},
		},
		{
			"enough memory",
			[]string{"-gpu-memory", "30GiB", "-gpus", "2", "-cpus", "2", "-memory", "1GiB"},
			script,
			[]string{"Features=A100-40GB"},
			[]string{"--constraint=A100-40GB"},
			[]string{"0 #,# cpus=2 omp=2 node=0/1 rank=/ at=set from= group= grow= mib= own="},
		},
		{
			"private steps",
			[]string{"-steps", "-gpus", "1", "-cpus", "2", "-memory", "100MiB", "-n", "3"},
			script,
			[]string{"NumNodes=1", "NumCPUs=6", "MinMemoryNode=300M", "TresPerNode=gres:gpu:3"},
			nil, slices.Repeat([]string{"0 # cpus=2 omp=2 node=/ rank=/ at= from= group= grow= mib= own="}, 3),
		},
		{
			"stacked",
			[]string{"-most", "3", "-p", "x=1..3", "-gpu", "A100-40GB", "-used", "6GiB", "-busy", "0.2", "-cpus", "1", "-memory", "100MiB", "-group", "it's", "-scratch", "/tmp", "-gpu-memory", "30GiB"},
			append(slices.Clone(script), "{x}"),
			[]string{"NumNodes=1", "NumCPUs=3", "MinMemoryNode=300M", "TresPerNode=gres:gpu:1"},
			nil,
			slices.Repeat([]string{"# # cpus=3 omp=1 node=/ rank=/ at= from= group=it's grow=true mib=# own=yes"}, 3),
		},
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// alike reports whether got is want, in which # is any number.
func alike(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "#", "[0-9]+")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

// TestClusterRecipes: each recipe goes from a command line to a sweep file, is planned,
// submitted, and runs as Slurm and the tasks themselves tell. The script is that of
// testdata/recipes and has nothing for shellcheck to say.
func TestClusterRecipes(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 4, GPUs: 4, Untyped: true, Features: [][]string{{"T4"}, {"T4"}, {"A100-40GB"}, {"A100-40GB"}}})
	for i, r := range recipes() {
		if r.name == "stacked" { // where a GPU is left for three
			for node, gpus := range map[string]string{"g3": "4", "g4": "3"} {
				c.Run("sbatch", "-w", node, "--gres=gpu:"+gpus, "--output=/dev/null", "--wrap=sleep 600")
			}
			slurmtest.Await(t, "strangers run", func() bool { return strings.Count(c.Run("squeue", "-h", "-t", "RUNNING", "-o", "%i"), "\n") == 2 })
		}
		t.Run(r.name, func(t *testing.T) { r.run(t, c, fmt.Sprint("recipe", i)) })
	}
}

func (r *recipe) run(t *testing.T, c *slurmtest.Cluster, name string) {
	t.Helper()
	dir := filepath.Join(c.Dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "torchrun"), []byte("#!/bin/bash\necho torchrun \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	sweep, rec := filepath.Join(dir, "sweep.json"), filepath.Join(dir, "submitted.json")
	do := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		p := &program{client: slurm.NewClient(slurm.Config{Runner: slurm.Exec{Conf: c.Conf}}), stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
		if code := p.run(t.Context(), args); code != 0 {
			t.Fatalf("%q: exit status %d\n%s%s", args, code, &out, &errs)
		}
		return out.String()
	}
	do(slices.Concat([]string{"new", "-sweep", sweep, "-time", "5m", "-log-dir", "logs"}, r.flags, []string{"--"}, r.command)...)
	planned := do("plan", "-scripts", "-sweep", sweep, "-record", rec)
	r.check(t, name, planned)
	submitted := do("submit", "-sweep", sweep, "-record", rec)
	contains(t, submitted, "job ")
	id := digits.FindString(submitted[strings.LastIndex(submitted, "job "):])
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := c.Command(ctx, "srun", "--dependency=afterany:"+id, "--mem=10", "true") // returns when it is over
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shown := c.Run("scontrol", "show", "job", id)
	for _, want := range r.job {
		if !slices.ContainsFunc(strings.Fields(shown), func(f string) bool { return alike(want, f) }) {
			t.Errorf("the job has not %s:\n%s", want, shown)
		}
	}
	var got []string
	logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*.log"))
	for _, l := range logs {
		text, err := os.ReadFile(l)
		if err != nil {
			t.Error(err)
		}
		got = append(got, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	slices.Sort(got)
	if len(got) != len(r.lines) || !slices.EqualFunc(r.lines, got, alike) {
		t.Errorf("the tasks say\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(r.lines, "\n"))
	}
}

// check compares the script with the golden one, and lets shellcheck read it.
func (r *recipe) check(t *testing.T, name, planned string) {
	t.Helper()
	_, text, ok := strings.Cut(planned, "#!/bin/bash\n")
	if !ok {
		t.Fatalf("no script:\n%s", planned)
	}
	text = "#!/bin/bash\n" + text
	for _, want := range r.header {
		contains(t, text, "#SBATCH "+want+"\n")
	}
	text = regexp.MustCompile(`colloc:recipe[0-9]+-[0-9a-f]+:`).ReplaceAllString(text, "colloc:SWEEP:") // a folder of this run
	text = regexp.MustCompile(`COLLOC_GPU_MEMORY_MIB=[0-9]+`).ReplaceAllString(text, "COLLOC_GPU_MEMORY_MIB=N")
	if strings.Contains(text, "time-slicing\n") { // with what the models predict of their speeds
		text = regexp.MustCompile(`--time=00:0[6-9]:00`).ReplaceAllString(text, "--time=LONGER")
	}
	file := filepath.Join("testdata", "recipes", name+".sh")
	if os.Getenv("COLLOC_SLURM_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (COLLOC_SLURM_UPDATE=1 writes it)", err)
	}
	if string(want) != text {
		t.Errorf("%s differs from what is made now (COLLOC_SLURM_UPDATE=1 writes it anew):\n%s", file, text)
	}
	if out, err := exec.Command("shellcheck", "--severity=style", file).CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}
