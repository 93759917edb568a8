// Package export holds colloc_export.py, which describes a PyTorch training task
// for colloc, and the test that what it writes is a specification. Copy the file
// beside a training script; it needs torch alone:
//
//	import colloc_export
//
//	colloc_export.describe(model, batch, optimizer, "mixed", path="task.json")
package export
