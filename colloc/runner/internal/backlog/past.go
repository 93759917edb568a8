package backlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// numberKey is the key of a record.
func numberKey(number int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(number)) } //nolint:gosec // from 1

// Archive moves tasks that are over, and written, to the history. last is the largest number
// in the queue.
func (s *Store) Archive(entries []*Entry, last int) error {
	past := s.Past
	err := s.update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketPast, bucketPastIDs} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		var buffer bytes.Buffer
		for _, e := range entries {
			key := numberKey(e.Number)
			value, err := seal(&buffer, &e.Saved)
			err = errors.Join(err, tx.Bucket(bucketTasks).Delete(key), tx.Bucket(bucketPast).Put(key, value), tx.Bucket(bucketPastIDs).Put([]byte(e.Task.ID), key))
			if err != nil {
				return err
			}
			past = past.count(e, 1)
		}
		past.Last = max(past.Last, last)
		return s.putPast(tx, &past)
	})
	if err == nil {
		s.Past = past
	}
	return err
}

// putPast writes what the history says of itself.
func (s *Store) putPast(tx *bbolt.Tx, past *Past) error {
	value, err := seal(new(bytes.Buffer), past)
	if err != nil {
		return err
	}
	meta := tx.Bucket(bucketMeta)
	return errors.Join(meta.Put(keyFormat, []byte(formatPast)), meta.Put(keyPast, value))
}

// Recall moves tasks back from the history in one transaction. Those that it does not have
// are left out.
func (s *Store) Recall(ids ...string) (entries []*Entry, err error) {
	past := s.Past
	err = s.update(func(tx *bbolt.Tx) error {
		if tx.Bucket(bucketPastIDs) == nil {
			return nil
		}
		for _, id := range ids {
			e, err := recallOne(tx, []byte(id))
			if err != nil {
				return err
			}
			if e != nil {
				entries, past = append(entries, e), past.count(e, -1)
			}
		}
		if len(entries) == 0 {
			return nil
		}
		return s.putPast(tx, &past)
	})
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	s.Past = past
	return entries, nil
}

// recallOne moves a task back from the history; nil if it has none of that ID.
func recallOne(tx *bbolt.Tx, id []byte) (*Entry, error) {
	ids, records := tx.Bucket(bucketPastIDs), tx.Bucket(bucketPast)
	key := bytes.Clone(ids.Get(id)) // the memory is the transaction's
	if key == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	e, value := new(Entry), bytes.Clone(records.Get(key))
	if err := unseal(value, &e.Saved); err != nil {
		return nil, err
	}
	if e.ProfileKey != nil {
		e.Profile = new(profile.Profile)
		if err := unseal(tx.Bucket(bucketProfiles).Get(e.ProfileKey), e.Profile); err != nil {
			return nil, err
		}
		e.Task.Profile = e.Profile
	}
	return e, errors.Join(ids.Delete(id), records.Delete(key), tx.Bucket(bucketTasks).Put(key, value))
}

// Has reports whether the history has a task of that ID.
func (s *Store) Has(id string) (ok bool) {
	err := s.guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			ids := tx.Bucket(bucketPastIDs)
			ok = ids != nil && ids.Get([]byte(id)) != nil
			return nil
		})
	})
	return ok && err == nil
}

// Look reads one record of the history; false if there is none of that ID.
func (s *Store) Look(id string) (r queue.Record, ok bool) {
	err := s.guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			ids := tx.Bucket(bucketPastIDs)
			if ids == nil || ids.Get([]byte(id)) == nil {
				return nil
			}
			ok = true
			return readPast(tx.Bucket(bucketPast).Get(ids.Get([]byte(id))), &r)
		})
	})
	return r, ok && err == nil
}

// A page of the history is read at once: so many records, or so many bytes of them.
const (
	pageRecords = 500
	pageBytes   = 4 << 20
)

// History gives the records of the history to each, the last submitted first, until that
// returns false: those of lower numbers than upTo, or all if that is 0. No transaction is
// open while each runs: it may take its time, and write.
func (s *Store) History(upTo int, each func(queue.Record) bool) error {
	var before []byte
	if upTo > 0 {
		before = numberKey(upTo)
	}
	for {
		page, last, err := s.page(before)
		if err != nil {
			return err
		}
		for i := range page {
			if !each(page[i]) {
				return nil
			}
		}
		if last == nil {
			return nil
		}
		before = last
	}
}

// page reads the last records before a key, or of all if that is nil. last is the key of the
// first of them; nil if there are none.
func (s *Store) page(before []byte) (records []queue.Record, last []byte, err error) {
	err = s.guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			past := tx.Bucket(bucketPast)
			if past == nil {
				return nil
			}
			var key, value []byte
			c := past.Cursor()
			if at, _ := c.Seek(before); before == nil || at == nil {
				key, value = c.Last() // all are below
			} else {
				key, value = c.Prev()
			}
			for size := 0; key != nil && len(records) < pageRecords && size < pageBytes; key, value = c.Prev() {
				var r queue.Record
				if err := readPast(value, &r); err != nil {
					return err
				}
				records, size, last = append(records, r), size+len(value), bytes.Clone(key)
			}
			return nil
		})
	})
	return records, last, err
}

// readPast reads a record without what only the runner needs.
func readPast(value []byte, r *queue.Record) error {
	var raw json.RawMessage
	if err := unseal(value, &raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, r)
}
