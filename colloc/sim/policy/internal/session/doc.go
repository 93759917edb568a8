// Package session is the scheduler of policy.Session: packer decides, gangs take
// seats one by one, and what is measured improves what is predicted.
package session
