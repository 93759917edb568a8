package main

import "embed"

// builtin are the files beside this program, so that it runs from anywhere.
//
//go:embed tasks.json gpus.json models
var builtin embed.FS
