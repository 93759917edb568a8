// Package controller runs collocd: it watches the API server, asks the books for
// decisions, writes them, and says on each pod what was decided and why.
package controller
