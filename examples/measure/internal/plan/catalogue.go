package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Task is one workload that can be measured.
type Task struct {
	Name string // as the scripts know it
	// Core tasks are those whose pairs are measured first.
	Core bool
	What string // network, batch and precision, for people
}

// Catalogue lists the workloads. The scripts of package workload have the same
// names; a test compares them.
var Catalogue = []Task{
	{"mlp-small", false, "MLP 3x512, batch 128, fp32: cannot fill a GPU"},
	{"mlp-wide", false, "MLP 6x4096, batch 4096, tf32: can"},
	{"resnet18-cifar", true, "ResNet-18 on 32x32, batch 128, fp32"},
	{"resnet50-mixed", true, "ResNet-50 on 224x224, batch 64, mixed"},
	{"resnet50-tf32", false, "ResNet-50 on 224x224, batch 32, tf32"},
	{"mobilenet-cifar", true, "MobileNetV2 on 32x32, batch 128, fp32"},
	{"unet", false, "U-Net on 256x256, batch 8, mixed"},
	{"resnet50-serve", false, "ResNet-50 inference, batch 8, fp16"},
	{"bert-mini", true, "BERT 4x256, 128 tokens, batch 32, mixed"},
	{"bert-base", false, "BERT 12x768, 128 tokens, batch 16, mixed"},
	{"gpt-mini", true, "GPT 6x384, 256 tokens, batch 8, mixed"},
	{"gpt2", false, "GPT-2 12x768, 1024 tokens, batch 4, bf16"},
	{"bert-serve", false, "BERT 12x768 inference, batch 8, fp16"},
	{"lstm", true, "LSTM 2x650, 64 tokens, batch 64, fp32"},
	{"dlrm", true, "DLRM, 26 tables of 100,000 rows, batch 2048, fp32"},
	{"rl-cartpole", true, "actor-critic, 64 cart-poles on the CPU, fp32"},
}

// Choose returns the named tasks in the catalogue's order; "" is all.
// An error names the flag.
func Choose(list string) ([]Task, error) {
	if list == "" {
		return Catalogue, nil
	}
	names := strings.Split(list, ",")
	var chosen []Task
	for _, t := range Catalogue {
		if slices.Contains(names, t.Name) {
			chosen = append(chosen, t)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(Catalogue, func(t Task) bool { return t.Name == name }) {
			return nil, fmt.Errorf("-tasks: no task %q: -list prints them", name)
		}
	}
	return chosen, nil
}
