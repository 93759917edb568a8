//go:build slurm

package slurmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Options is the cluster to start. The zero value has two nodes with eight GPUs
// of one type that are not shared.
type Options struct {
	// Nodes are g1 to gN, with GPUs each; 0 means 2 and 8.
	Nodes, GPUs int
	// Share is "shard" or "mps"; Shares is how many of them a GPU has, 0 means 8
	// and 100. Never both kinds: 22.05 then computes a wrong MPS percentage.
	Share  string
	Shares int
	// Pinned gives each GPU of a node a type of its own, a100i0 to a100i7, so
	// that a request can name it.
	Pinned bool
	// Untyped gives the GPUs no type.
	Untyped bool
	// Types are those of a node's GPUs, in groups of the same, in place of GPUs.
	Types []string
	// Features are those of each node, g1 first; nil or too few is none.
	Features [][]string
	// Conf is added to slurm.conf, such as another partition.
	Conf string
	// Lua is the text of job_submit.lua; empty is none.
	Lua string
}

func (o *Options) fill() {
	if o.Nodes <= 0 {
		o.Nodes = 2
	}
	if o.Types != nil {
		o.GPUs = len(o.Types)
	}
	if o.GPUs <= 0 {
		o.GPUs = 8
	}
	if o.Shares <= 0 {
		o.Shares = 8
		if o.Share == "mps" {
			o.Shares = 100
		}
	}
}

// gres returns what a node offers, and gres.conf. File must name a character
// device: for anything else Slurm sets no CUDA_VISIBLE_DEVICES.
func (o *Options) gres(dir string) (node, conf string) {
	var lines, list []string
	device := filepath.Join(dir, "gpu")
	switch {
	case o.Types != nil:
		for i := 0; i < len(o.Types); {
			first, kind := i, o.Types[i]
			for ; i < len(o.Types) && o.Types[i] == kind; i++ {
				lines = append(lines, fmt.Sprintf("Name=gpu Type=%s File=%s%d Flags=nvidia_gpu_env", kind, device, i))
			}
			list = append(list, fmt.Sprintf("gpu:%s:%d", kind, i-first))
		}
	case o.Pinned:
		for _, name := range o.names() {
			for i := range o.GPUs {
				count := 1
				line := fmt.Sprintf("Name=%s Type=a100i%d File=%s%d Flags=nvidia_gpu_env", name, i, device, i)
				if name != "gpu" {
					count = o.Shares
					line = fmt.Sprintf("Name=%s Type=a100i%d Count=%d File=%s%d", name, i, count, device, i)
				}
				lines = append(lines, line)
				list = append(list, fmt.Sprintf("%s:a100i%d:%d", name, i, count))
			}
		}
	default:
		kind, named := " Type=a100", "a100:"
		if o.Untyped {
			kind, named = "", ""
		}
		lines = append(lines, fmt.Sprintf("Name=gpu%s File=%s[0-%d] Flags=nvidia_gpu_env", kind, device, o.GPUs-1))
		list = append(list, fmt.Sprintf("gpu:%s%d", named, o.GPUs))
		if o.Share != "" {
			lines = append(lines, fmt.Sprintf("Name=%s Count=%d", o.Share, o.Shares*o.GPUs))
			list = append(list, fmt.Sprintf("%s:%d", o.Share, o.Shares*o.GPUs))
		}
	}
	return strings.Join(list, ","), "AutoDetect=off\n" + strings.Join(lines, "\n") + "\n"
}

func (o *Options) names() []string {
	if o.Share == "" {
		return []string{"gpu"}
	}
	return []string{"gpu", o.Share}
}

// write lays out the directory: configuration, devices, key.
func (o *Options) write(dir, host, user string, ports []int) error {
	for _, d := range []string{"state", "spool", "log", "run"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	for i := range o.GPUs {
		if err := os.Symlink(os.DevNull, filepath.Join(dir, fmt.Sprintf("gpu%d", i))); err != nil {
			return err
		}
	}
	node, gres := o.gres(dir)
	conf := o.conf(dir, host, user, node, ports)
	conf += o.Conf
	if o.Lua != "" {
		conf += "JobSubmitPlugins=lua\n"
		if err := os.WriteFile(filepath.Join(dir, "job_submit.lua"), []byte(o.Lua), 0o644); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"slurm.conf": conf, "gres.conf": gres, "cgroup.conf": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// conf is slurm.conf: no cgroups, no accounting, everything on loopback, nodes
// that are larger than the machine, and a scheduler that does not dawdle.
func (o *Options) conf(dir, host, user, gres string, ports []int) string {
	kinds := strings.Join(o.names(), ",")
	text := fmt.Sprintf(`ClusterName=private
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmUser=%[4]s
SlurmdUser=%[4]s
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=%[1]s/run/munge.socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool/%%n
SlurmctldPidFile=%[1]s/run/slurmctld.pid
SlurmdPidFile=%[1]s/run/slurmd.%%n.pid
SlurmctldLogFile=%[1]s/log/slurmctld.log
SlurmdLogFile=%[1]s/log/slurmd.%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=2
GresTypes=%[5]s
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=0,defer_batch
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
`, dir, host, ports[0], user, kinds)
	var b strings.Builder
	b.WriteString(text)
	for i := range o.Nodes {
		features := ""
		if i < len(o.Features) && len(o.Features[i]) > 0 {
			features = " Features=" + strings.Join(o.Features[i], ",")
		}
		fmt.Fprintf(&b, "NodeName=g%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=32 Boards=1 SocketsPerBoard=1 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=64000 Gres=%s State=UNKNOWN%s\n",
			i+1, host, ports[i+1], gres, features)
	}
	b.WriteString("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=NO DefMemPerCPU=100 State=UP\n")
	return b.String()
}
