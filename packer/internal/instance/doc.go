// Package instance is a packing problem in numbers, as all methods share it: tasks and
// GPUs are indices in the order of their names, values are whole units, and an Oracle
// answers what numbers alone do not tell, the speeds of a set above all. Who compiles a
// problem implements it; who searches asks an [Evaluator] what sets are worth.
//
// The value of a set S on GPUs of class k, and what the plan gains by it at home:
//
//	W(k, S) = max over mechanisms of Σ round(weight(i)·pace(i, k)·speed(i, S, k) / unit)
//	W(k, S) + Σ stay(i)  for i ∈ S with home(i) = g
package instance
