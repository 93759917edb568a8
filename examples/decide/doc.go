// Package decide holds colloc_client.py, which asks a station that was started with
// -decide, or any server with the handler of package decide, and the test that it works.
package decide
