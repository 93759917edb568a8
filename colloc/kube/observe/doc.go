// Package observe looks at what became of decisions and draws the consequences. It
// measures tasks of which little is known while they run alone, writes that into their
// Profiles, and teaches the Planner how fast tasks are together. It tells of tasks that
// take more memory than was set aside, and of those that are too slow for their users.
// Where that is allowed it evicts who is in the way.
package observe
