package decisions

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/internal/regular"
)

// File is where the tasks of one user should go, and since when that holds.
type File struct {
	// Made is when, in UTC; UID is whose jobs it is about.
	Made time.Time `json:"made"`
	UID  int       `json:"uid"`
	// Tasks are by [KeyOf] of a job's comment.
	Tasks map[string]Decision `json:"tasks"`
}

// Decision is where a task should go.
type Decision struct {
	Node string `json:"node"`
	Gres string `json:"gres"`
}

// KeyOf is a comment as decisions are looked up by, without its prefix, and however its
// author escaped it.
func KeyOf(comment string) string {
	key := strings.TrimPrefix(comment, slurm.CommentPrefix)
	if plain, err := url.QueryUnescape(key); err == nil {
		return plain
	}
	return key
}

// Write replaces the file at path; in a folder it is UID.json, so that many users can
// leave theirs in one place.
func (f *File) Write(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, strconv.Itoa(f.UID)+".json")
	}
	return files.WriteJSON(path, f)
}

// maxFile is the largest file of decisions in bytes: slurmctld waits while it is read.
const maxFile = 1 << 20

// read reads the decisions about the jobs of a user, nil if there are none. Those in a folder, where every user may
// write, count only if the file is that user's own, and no link: what is looked at is what is read.
func read(path, uid string) (*File, error) {
	var f *os.File
	folder, err := os.Stat(path)
	if err == nil && folder.IsDir() {
		number, err := strconv.ParseUint(uid, 10, 32)
		path = filepath.Join(path, uid+".json")
		if err == nil {
			f, err = regular.OpenOf(uint32(number), path, os.O_RDONLY, 0)
		}
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // nobody decided for this user
		}
	} else if f, _, err = regular.Open(path); err != nil {
		return nil, cli.Usage("%w", err)
	}
	data, err := regular.Rest(f, maxFile)
	if err != nil {
		return nil, cli.Usage("%w: plan the decisions again", err)
	}
	var all File
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, cli.Usage("%s: %w", path, err)
	}
	if uid != "" && uid != strconv.Itoa(all.UID) {
		return nil, nil //nolint:nilnil // nobody decided for this user
	}
	return &all, nil
}
