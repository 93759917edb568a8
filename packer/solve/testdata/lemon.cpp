// Reads the number of tasks and the upper triangle of their pairs' weights, 32-bit
// integers above 0, and prints how long LEMON's matching takes, in seconds, and
// what it is worth.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <lemon/matching.h>
#include <lemon/smart_graph.h>

int main() {
	int32_t n = 0;
	if (std::fread(&n, sizeof n, 1, stdin) != 1 || n < 0) return 1;
	std::vector<int32_t> w(static_cast<size_t>(n) * (n - 1) / 2);
	if (std::fread(w.data(), sizeof(int32_t), w.size(), stdin) != w.size()) return 1;

	lemon::SmartGraph g;
	g.reserveNode(n);
	g.reserveEdge(w.size());
	for (int i = 0; i < n; i++) g.addNode();
	lemon::SmartGraph::EdgeMap<int64_t> weight(g);
	size_t k = 0;
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			weight[g.addEdge(g.nodeFromId(i), g.nodeFromId(j))] = w[k++];

	auto start = std::chrono::steady_clock::now();
	lemon::MaxWeightedMatching<lemon::SmartGraph, lemon::SmartGraph::EdgeMap<int64_t>> m(g, weight);
	m.run();
	std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
	std::printf("%.6f %lld\n", took.count(), static_cast<long long>(m.matchingWeight()));
	return 0;
}
