// Package deploy has the manifests of collocd; its tests hold them against the code.
package deploy
