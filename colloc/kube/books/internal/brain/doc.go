// Package brain makes a Dispatcher of how things are: of the cards and of who ran there from when to when, as the API
// server tells it. It is made anew for each question, so that there is no state that a replica could
// lose or that could differ from the books.
package brain
