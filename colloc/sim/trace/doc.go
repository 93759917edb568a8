// Package trace reads the traces that schedulers are compared on, and generates
// new ones, as tasks for package sim.
//
// Read recognises a layout by its first line:
//
//	carma     task,arrival_s,job,gpus,exclusive_duration_s,peak_mem_mib,...
//	muri      job_id,num_gpu,submit_time,iterations,model_name,...,iteration_time,resource_time_0..2
//	openb     name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,...,creation_time,deletion_time
//	openb     sn,cpu_milli,memory_mib,gpu,model: the machines
//	gavel     gpu,job_id,model,...,solo_sim_steps_per_s: job types, see [Workload]
//	philly    jobid,status,vc,submitted_time,start_time,end_time,gpus
//	helios    job_id,user,vc,gpu_num,cpu_num,...,state,submit_time,...,duration
//	jsonl     one JSON object a line, see [Record]
//
// Columns may stand in any order and others may be between them.
//
// A malformed file is refused as a whole: errors name line and column, and
// nothing half-read is returned.
package trace
