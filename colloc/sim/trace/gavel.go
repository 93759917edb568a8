package trace

// gavelRow reads a job type of Gavel's measurements (Narayanan et al., OSDI 2020,
// github.com/stanford-futuredata/gavel c4fa400, simulation_throughputs.json). A
// type occurs once for each GPU; speeds are for [sim.ReadPairs].
func gavelRow(r *row, tr *Trace) {
	name := r.name("job_id")
	r.number("solo_sim_steps_per_s", 1e9)
	for i := range tr.Types {
		if tr.Types[i].Name == name {
			return
		}
	}
	tr.Types = append(tr.Types, Type{Name: name, Busy: min(1, r.number("batch_saturation", 1e9))})
}
