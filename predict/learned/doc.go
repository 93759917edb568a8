// Package learned holds what learns from tasks that ran: the predictors of memory,
// of speeds side by side and of the pace of GPUs, as one thing that is copied, saved,
// loaded and looked into.
//
//	file := new(bytes.Buffer)
//	err := models.Save(file)
//	...
//	models, err = learned.Load(file)
//
// colloc.Planner has such models; who uses the predictors without it puts them into
// [Models].
//
// A loaded model answers as the saved one did, bit by bit, and goes on learning as it
// would have: the co-runs that were observed are in the file, bounded as
// [interference.Predictor.Refit] says. So a file tells which tasks ran.
package learned
