package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"example.com/colloc/colloc/cmd/internal/cli"
)

// version is colloc version.
func version() cli.Program {
	return cli.Program{
		Name: "version", Short: "Say what was built",
		Run: func(_ context.Context, args []string, s cli.Streams) int {
			if len(args) > 0 && args[0] != "-h" && args[0] != "--help" {
				fmt.Fprintf(s.Err, "colloc version: %q: no argument is expected\n", args[0])
				return 2
			}
			if len(args) > 0 {
				fmt.Fprintln(s.Out, "Version says which version, revision and Go this program was built from.\n\nusage: colloc version")
				return 0
			}
			fmt.Fprintln(s.Out, built())
			return 0
		},
	}
}

// built writes what is known of a build. A revision is missing where the sources
// are not a checkout, or with -buildvcs=false.
func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "colloc, of an unknown version"
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text := "colloc " + info.Main.Version
	if revision := settings["vcs.revision"]; revision != "" {
		text += ", revision " + revision + " of " + settings["vcs.time"]
		if settings["vcs.modified"] == "true" {
			text += " with changes"
		}
	}
	return text + ", " + info.GoVersion + " " + settings["GOOS"] + "/" + settings["GOARCH"]
}
