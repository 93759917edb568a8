// Package body tells a [dispatch.Dispatcher] what becomes of the tasks of a queue and of the cards of a
// fleet, and says what it lets start.
package body
