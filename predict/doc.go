// Package predict says what an answer is. A task is described before it runs;
// what it will need, and what it will cost its neighbours, is predicted by the
// packages below:
//
//   - [example.com/colloc/predict/memory]: how much device memory it needs
//   - [example.com/colloc/predict/utilization]: how busy it keeps a GPU alone
//   - [example.com/colloc/predict/interference]: how fast it runs beside others
//   - [example.com/colloc/predict/pace]: how fast it runs on a slice of a GPU
//
// Each is fitted to observations (Fit) and predicts an [Estimate]: a value, an
// interval around it, and a [Source] that says what it rests on. Most learn from
// what happens later (Observe), and all are saved and loaded as versioned JSON.
// Package pretrained holds fitted ones:
//
//	m, err := pretrained.Memory()
//	if err != nil {
//		return err
//	}
//	host, err := predict.HostFromProbe("node7", "2.4.1+cu121", before, after)
//	if err != nil {
//		return err
//	}
//	peak, err := m.Peak(&spec, host)
//	fmt.Printf("%.1f to %.1f GiB (%v)\n", peak.Lo/(1<<30), peak.Hi/(1<<30), peak.Source.Kind)
//
// How good a predictor is on rows that it has not seen, [CrossValidate] and
// [Score] tell in a [Report].
package predict
