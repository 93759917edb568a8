package wire_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/colloc/colloc/wire"
)

func ExampleRead() {
	double := func(w http.ResponseWriter, r *http.Request) {
		var in struct{ N int }
		r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
		if err := wire.Read(r, &in); err != nil {
			wire.Refuse(w, err)
			return
		}
		if in.N < 0 {
			wire.Refuse(w, wire.Errorf(wire.Invalid, "N", "want 0 or more", "is %d", in.N))
			return
		}
		wire.Answer(w, 2*in.N)
	}
	for _, body := range []string{`{"N": 21}`, `{"N": -1}`} {
		w := httptest.NewRecorder()
		double(w, httptest.NewRequest(http.MethodPost, "/double", strings.NewReader(body)))
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 42
	// 400 {"code":"invalid","what":"is -1","where":"N","do":"want 0 or more"}
}
