package backlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"example.com/colloc/profile"
)

// File is the name of the queue file in its folder.
const File = "queue.db"

// Format is what a queue file says of itself, formatPast one that has a history, which older
// programs would take for damage.
const (
	Format     = "colloc-queue 1"
	formatPast = "colloc-queue 2"
)

// The buckets of the queue file: records by number, profiles by the SHA-256 of
// their JSON, what concerns the file as a whole, and of a file with a history records by
// number that are in it, and their numbers by ID.
//
//nolint:gochecknoglobals // constants; Go has no constant slices
var (
	bucketTasks    = []byte("tasks")
	bucketProfiles = []byte("profiles")
	bucketMeta     = []byte("meta")
	bucketPast     = []byte("past")
	bucketPastIDs  = []byte("past-ids")
	keyFormat      = []byte("format")
	keyPast        = []byte("past")
	keyRuns        = []byte("runs")
)

// Store is the queue file.
type Store struct {
	db *bbolt.DB
	// Runs is the folder, relative to that of the queue file, of the runs of this queue. A
	// queue that begins anew gets a new one, so that it takes no claim of the old
	// one for its own.
	Runs string
	// Past says what is in the history.
	Past   Past
	broken atomic.Bool // its file cannot be used any more
}

// Open opens or makes the queue file in dir and returns the tasks in it.
// The caller holds the lock of the folder.
func Open(dir string, sync bool) (*Store, []*Entry, error) {
	path := filepath.Join(dir, File)
	if err := begin(dir, path, sync); err != nil {
		return nil, nil, fmt.Errorf("runner: queue file %s: %w", path, err)
	}
	s, entries, err := readFile(path, sync)
	var damage *damageError
	switch {
	case errors.As(err, &damage):
		aside, asideErr := setAside(path)
		if asideErr != nil {
			return nil, nil, fmt.Errorf("runner: queue file %s is corrupt: %w; it cannot be set aside: %w", path, damage.err, asideErr)
		}
		return nil, nil, &CorruptError{Path: path, Aside: aside, Err: damage.err}
	case err != nil:
		return nil, nil, fmt.Errorf("runner: queue file %s: %w", path, err)
	}
	return s, entries, nil
}

const (
	// mapped is how much address space the file has from the start. Where that is too little
	// bbolt copies all that a transaction holds, once for each time that it doubles.
	mapped = 256 << 20
	// growth is by how much the file grows at a time.
	growth = 1 << 20
)

// readFile opens the file and reads all of it. Damage that bbolt does not
// notice in time ends in a panic or, where the file is too short, in a fault of
// the memory it is mapped to; both are a damageError here.
func readFile(path string, sync bool) (s *Store, entries []*Entry, err error) {
	if err := checkPages(path); err != nil {
		return nil, nil, err
	}
	var file *os.File
	options := &bbolt.Options{
		NoSync: !sync, NoGrowSync: !sync, Timeout: time.Second, InitialMmapSize: mapped,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &damageError{fmt.Errorf("%v", r)}
		}
		if err != nil && file != nil {
			_ = file.Close() // also where bbolt panicked and would keep it open
			s = nil
		}
	}()
	db, err := bbolt.Open(path, 0o600, options)
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w; another program may have it open", err)
	}
	db.AllocSize = growth
	s = &Store{db: db}
	err = db.View(func(tx *bbolt.Tx) error {
		entries, err = s.load(tx)
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return s, entries, nil
}

// begin makes the queue file if there is none, under another name first,
// so that one that was never finished is not taken for a damaged one.
func begin(dir, path string, sync bool) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	unfinished := path + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	runs, err := makeRuns(dir)
	if err != nil {
		return err
	}
	db, err := bbolt.Open(unfinished, 0o600, &bbolt.Options{NoSync: !sync, NoGrowSync: !sync})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketTasks, bucketProfiles, bucketMeta} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		return errors.Join(meta.Put(keyFormat, []byte(Format)), meta.Put(keyRuns, []byte(runs)))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

// makeRuns makes a folder for runs that was not there before.
func makeRuns(dir string) (string, error) {
	for n := 1; ; n++ {
		runs := fmt.Sprintf("runs-%d", n)
		err := os.Mkdir(filepath.Join(dir, runs), 0o700)
		if !errors.Is(err, os.ErrExist) {
			return runs, err
		}
	}
}

// load reads all records.
func (s *Store) load(tx *bbolt.Tx) ([]*Entry, error) {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return nil, &damageError{errors.New("a bucket is missing")}
	}
	if format := string(meta.Get(keyFormat)); format == formatPast {
		if err := s.loadPast(tx); err != nil {
			return nil, err
		}
	} else if format != Format {
		return nil, fmt.Errorf("format is %q, want %q: it was written by another version", format, Format)
	}
	s.Runs = string(meta.Get(keyRuns))
	tasks, stored := tx.Bucket(bucketTasks), tx.Bucket(bucketProfiles)
	if tasks == nil || stored == nil || s.Runs == "" {
		return nil, &damageError{errors.New("a bucket is missing")}
	}
	profiles := make(map[string]*profile.Profile)
	err := stored.ForEach(func(key, value []byte) error {
		p := new(profile.Profile)
		profiles[string(key)] = p
		return unseal(value, p)
	})
	if err != nil {
		return nil, err
	}
	var entries []*Entry
	err = tasks.ForEach(func(_, value []byte) error {
		e := new(Entry)
		if err := unseal(value, &e.Saved); err != nil {
			return err
		}
		e.Profile = profiles[string(e.ProfileKey)]
		if e.Profile == nil && e.ProfileKey != nil {
			return &damageError{fmt.Errorf("the profile of record %d is missing", e.Number)}
		}
		e.Task.Profile = e.Profile
		entries = append(entries, e)
		return nil
	})
	if err == nil {
		err = s.complete(entries)
	}
	return entries, err
}

// loadPast reads what the history says of itself.
func (s *Store) loadPast(tx *bbolt.Tx) error {
	if tx.Bucket(bucketPast) == nil || tx.Bucket(bucketPastIDs) == nil {
		return &damageError{errors.New("a bucket is missing")}
	}
	return unseal(tx.Bucket(bucketMeta).Get(keyPast), &s.Past)
}

// complete is an error unless every number up to the largest is one of a record here or in
// the history.
func (s *Store) complete(entries []*Entry) error {
	last := s.Past.Last
	for _, e := range entries {
		last = max(last, e.Number)
	}
	if have := len(entries) + s.Past.total(); have != last {
		return &damageError{fmt.Errorf("%d records are there, want %d", have, last)}
	}
	return nil
}

// update makes one transaction. That somebody cut the file off, which is mapped to memory,
// is an error like others.
func (s *Store) update(change func(tx *bbolt.Tx) error) error {
	return s.guard(func() error { return s.db.Update(change) })
}

// guard does something with the file.
func (s *Store) guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			s.broken.Store(true)
			err = fmt.Errorf("it was damaged while it was in use: %v", fault)
		}
	}()
	if s.broken.Load() {
		return errors.New("it was damaged while it was in use")
	}
	return do()
}

// Put writes the records in one transaction.
func (s *Store) Put(entries []*Entry) error {
	return s.update(func(tx *bbolt.Tx) error {
		tasks, profiles := tx.Bucket(bucketTasks), tx.Bucket(bucketProfiles)
		keys := make(map[*profile.Profile][]byte)
		var buffer bytes.Buffer
		for _, e := range entries {
			if e.Profile != nil && e.ProfileKey == nil {
				e.ProfileKey = keys[e.Profile]
			}
			if e.Profile != nil && e.ProfileKey == nil {
				if err := putProfile(profiles, e); err != nil {
					return err
				}
				keys[e.Profile] = e.ProfileKey
			}
			value, err := seal(&buffer, &e.Saved)
			if err != nil {
				return fmt.Errorf("task %q: %w", e.Task.ID, err)
			}
			if err := tasks.Put(binary.BigEndian.AppendUint64(nil, uint64(e.Number)), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// putProfile keeps one copy of equal profiles.
func putProfile(profiles *bbolt.Bucket, e *Entry) error {
	value, err := seal(new(bytes.Buffer), e.Profile)
	if err != nil {
		return fmt.Errorf("task %q: profile: %w", e.Task.ID, err)
	}
	key := sha256.Sum256(value)
	e.ProfileKey = key[:]
	return profiles.Put(key[:], value)
}

// Written is how many writes to the file its transactions made so far.
func (s *Store) Written() int64 {
	stats := s.db.Stats()
	return stats.TxStats.GetWrite()
}

// Close closes the file; one that was cut off is left to the end of the process, as
// bbolt would fault again.
func (s *Store) Close() error {
	if s.broken.Load() {
		return nil
	}
	return s.db.Close()
}

// seal encodes v with a checksum of the encoding in front. It may use b before and after.
func seal(b *bytes.Buffer, v any) ([]byte, error) {
	b.Reset()
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return append(fmt.Appendf(make([]byte, 0, len(text)+8), "%08x", crc32.ChecksumIEEE(text)), text...), nil
}

// unseal decodes what seal wrote.
func unseal(value []byte, v any) error {
	const sum = 8
	if len(value) < sum || string(value[:sum]) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(value[sum:])) {
		return &damageError{errors.New("the checksum of a record is wrong")}
	}
	if err := json.Unmarshal(value[sum:], v); err != nil {
		return &damageError{err}
	}
	return nil
}
