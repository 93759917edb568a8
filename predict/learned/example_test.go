package learned_test

import (
	"bytes"
	"fmt"
	"log"

	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/learned"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// What was learned outlives the process.
func Example() {
	models := learned.Models{Memory: &memory.Predictor{}, Interference: &interference.Predictor{}, Pace: &pace.Predictor{}}
	bert := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: "bert"}, Training: profile.Training{BatchSize: 32}}}
	if err := models.Memory.Observe(memory.Observation{Spec: bert.Spec, Peak: 9 * profile.GiB}); err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := models.Save(&file); err != nil {
		log.Fatal(err)
	}
	again, err := learned.Load(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("peak of bert:", again.Of(bert).Memory.Peak)
	// Output:
	// peak of bert: 9 GiB
}
