package modelfile

import (
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// TestSlopes: the slopes of a PReLU are parameters, a fused module is no
// non-linearity without any, and so on for what PyTorch prints in a way of its own.
func TestSlopes(t *testing.T) {
	f, err := Read(strings.NewReader(`Net(
  (a): ConvReLU2d(3, 8, kernel_size=(3, 3), stride=(1, 1))
  (b): PReLU(num_parameters=8)
  (c): PReLU()
  (d): LinearReLU(in_features=8, out_features=4, bias=True)
  (e): ReLU(inplace=True)
  (f): Bilinear(in1_features=3, in2_features=4, out_features=5, bias=True)
  (g): LSTM(8, 16, num_layers=2, proj_size=4)
)
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(8*(27+1) + 8 + 1 + 4*9 + 5*(12+1) + 4*16*(8+4+2) + 4*16*(4+4+2) + 2*4*16); f.Model.Params() != want || f.Model.Layers[0].Kind != profile.Conv || f.Model.Layers[3].Kind != profile.Linear {
		t.Errorf("%d parameters, want %d: %+v", f.Model.Params(), want, f.Model.Layers)
	}
	f, err = Read(strings.NewReader(`{"class_name":"Sequential","config":{"layers":[
		{"class_name":"Dense","config":{"name":"d","units":6,"batch_input_shape":[null,4]}},
		{"class_name":"PReLU","config":{"name":"p"}},
		{"class_name":"Reshape","config":{"name":"r","target_shape":[2,3]}},
		{"class_name":"PReLU","config":{"name":"q","shared_axes":[1]}}]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(6*5 + 6 + 3); f.Model.Params() != want {
		t.Errorf("%d parameters, want %d: %+v", f.Model.Params(), want, f.Model.Layers)
	}
}
