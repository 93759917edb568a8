package lint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// licence is one that may be linked into what is given away under the Apache License.
type licence struct{ name, phrase string }

func licences() []licence {
	return []licence{
		{"Apache-2.0", "Apache License, Version 2.0"},
		{"Apache-2.0", "Apache License Version 2.0"},
		{"MPL-2.0", "Mozilla Public License, version 2.0"},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
		{"CC-BY-4.0", "Creative Commons Attribution 4.0 International Public License"}, // of gonum/plot's SVG
		{"FTL", "The FreeType License, which is similar to the original BSD license"},  // of gonum/plot's PNG
		{"BSD", "Redistribution and use in source and binary forms, with or without modification, are permitted"},
	}
}

// TestLicences: every module that the programs link has a licence that allows to give them away.
func TestLicences(t *testing.T) {
	for folder, want := range map[string]int{".": 10, "colloc/kube": 30} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./...")
		list.Dir = filepath.Join("..", "..", folder)
		out, err := list.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) && folder != "." && strings.Contains(string(exit.Stderr), "requires go >=") {
				t.Logf("%s is for a newer Go than this one: %s", folder, exit.Stderr)
				continue
			}
			t.Fatalf("%s: go list: %v", folder, err)
		}
		modules := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(modules)
		modules = slices.Compact(modules)
		for _, m := range modules {
			path, dir, _ := strings.Cut(m, " ")
			if m == "" || strings.HasPrefix(path, "example.com/") {
				continue
			}
			if name := licenceOf(dir); name == "" {
				t.Errorf("%s: none of its files is a licence of the list", path)
			} else {
				t.Logf("%-12s %s", name, path)
			}
		}
		if len(modules) < want {
			t.Errorf("%s: %d modules, want %d or more: the list is not what is linked", folder, len(modules), want)
		}
	}
}

// licenceOf is the licence of the module in a folder; empty if it is none of the list.
func licenceOf(dir string) string {
	files, _ := os.ReadDir(dir) // without any there is none
	for _, file := range files {
		name := strings.ToLower(file.Name())
		if !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			continue
		}
		words := regexp.MustCompile(`\s+`).ReplaceAllString(string(text), " ")
		for _, l := range licences() {
			if strings.Contains(words, l.phrase) {
				return l.name
			}
		}
	}
	return ""
}
