package main

import (
	"fmt"
	"slices"
	"strings"
)

// task is one workload of the scripts.
type task struct {
	name string
	// core tasks are those whose pairs are measured first.
	core bool
	what string
}

// catalogue lists the workloads. workloads/tasks.py has the same names; a test
// compares them.
var catalogue = []task{
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

// chooseTasks returns the named tasks in the catalogue's order; "" is all.
func chooseTasks(list string) ([]task, error) {
	if list == "" {
		return catalogue, nil
	}
	names := strings.Split(list, ",")
	var chosen []task
	for _, t := range catalogue {
		if slices.Contains(names, t.name) {
			chosen = append(chosen, t)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(catalogue, func(t task) bool { return t.name == name }) {
			return nil, fmt.Errorf("-tasks: no task %q: -list prints them", name)
		}
	}
	return chosen, nil
}
