package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote writes s as one word of bash that stands for exactly its bytes: as it is
// if that is safe, in single quotes if it is printable, else as $'...', so that
// one value never takes more than one line. s must not hold NUL.
func quote(s string) string {
	switch {
	case s != "" && !strings.ContainsFunc(s, unsafe):
		return s
	case utf8.ValidString(s) && !strings.ContainsFunc(s, unprintable):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(s) > 0 {
		c, size := utf8.DecodeRuneInString(s)
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == utf8.RuneError && size == 1 || unprintable(c):
			for i := range size {
				fmt.Fprintf(&b, `\x%02x`, s[i])
			}
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	b.WriteString("'")
	return b.String()
}

// quoteAll quotes words and joins them by blanks.
func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// unsafe reports whether bash, anywhere in a command line, could take c for
// something else than itself.
func unsafe(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune("_-./:@%+,", c) }

func alphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// unprintable counts what reorders or hides text among the control characters.
func unprintable(c rune) bool { return c != ' ' && !unicode.IsPrint(c) }

// label writes a name for a comment: one line, and recognisable.
func label(s string) string {
	if strings.ContainsFunc(s, unsafe) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// fileName writes a name so that it can be part of a file's name.
func fileName(s string) string {
	const most = 64
	clean := strings.Map(func(c rune) rune {
		if unsafe(c) || strings.ContainsRune("/%:@,", c) {
			return '_'
		}
		return c
	}, s)
	return clean[:min(len(clean), most)]
}

// path writes a path so that no program takes it for an option, nor cd for
// something else than a folder below the current one.
func path(s string) string {
	if s == "" || s[0] == '/' || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") {
		return quote(s)
	}
	return quote("./" + s)
}

// bashNames are variables that bash sets, computes or forbids to set: a task
// could not receive the value that it was given.
//
//nolint:gochecknoglobals // read-only
var bashNames = []string{
	"_", "BASH", "BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0", "BASH_CMDS",
	"BASH_COMMAND", "BASH_COMPAT", "BASH_ENV", "BASH_LINENO", "BASH_MONOSECONDS", "BASH_REMATCH", "BASH_SOURCE", "BASH_SUBSHELL",
	"BASH_TRAPSIG", "BASH_VERSINFO", "BASH_VERSION", "BASH_XTRACEFD", "CDPATH", "COMP_WORDBREAKS", "DIRSTACK", "ENV",
	"EPOCHREALTIME", "EPOCHSECONDS", "EUID", "EXECIGNORE", "FUNCNAME", "FUNCNEST", "GLOBSORT", "GROUPS", "HISTCMD", "IFS", "LINENO",
	"OLDPWD", "OPTARG", "OPTERR", "OPTIND", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "PS4", "PWD", "RANDOM",
	"READLINE_ARGUMENT", "READLINE_LINE", "READLINE_MARK", "READLINE_POINT", "SECONDS", "SHELLOPTS", "SHLVL", "SRANDOM",
	"UID",
}

// ownNames are variables that the scripts set.
//
//nolint:gochecknoglobals // read-only
var ownNames = []string{
	"COLLOC_GPU_MEMORY_MIB", "CUDA_DEVICE_ORDER", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_LOG_DIRECTORY",
	"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_VISIBLE_DEVICES",
}

// checkVariable tells why NAME=value cannot be given to a task.
func checkVariable(pair string) error {
	name, _, found := strings.Cut(pair, "=")
	switch {
	case !found:
		return errors.New("want NAME=value")
	case !identifier(name):
		return errors.New("the name is no shell variable's: want letters, digits and _")
	case slices.Contains(bashNames, name):
		return errors.New("the name is bash's own: the task would not receive the value")
	case slices.Contains(ownNames, name):
		return errors.New("the script sets it from the plan")
	}
	return nil
}

func identifier(s string) bool {
	for i, c := range s {
		if c != '_' && !alphanumeric(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return s != ""
}

// Unquote undoes bash's printf %q, with which a script's output names its tasks: escaped
// characters, or $'...'.
func Unquote(word string) string {
	body, special := strings.CutPrefix(word, "$'")
	if special {
		body = strings.TrimSuffix(body, "'")
	} else if word == "''" {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			continue
		}
		i++
		if n := strings.IndexByte("abtnvfr", body[i]); special && n >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r"[n])
			continue
		}
		if special && body[i] == 'E' {
			b.WriteByte(0x1b)
			continue
		}
		if special && i+3 <= len(body) {
			if octal, err := strconv.ParseUint(body[i:i+3], 8, 8); err == nil {
				b.WriteByte(byte(octal))
				i += 2
				continue
			}
		}
		b.WriteByte(body[i])
	}
	return b.String()
}
