// Package observe looks at what became of decisions and draws the consequences: it
// measures tasks of which little is known while they run alone and writes that into their
// Profiles, teaches the Planner how fast tasks are together, tells of tasks that take more
// memory than was set aside, and of those that are too slow for their users, and evicts
// who is in the way where that is allowed.
package observe
