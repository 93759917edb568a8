// Package decide holds colloc_client.py and the test that it works. The client asks a
// station that was started with -decide, or any server with the handler of package decide.
package decide
