package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

type point struct {
	X float64 `json:"x"`
}

// One value with known fields is read, all else is refused with what is wrong.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		body, want string
		code       Code
	}{
		{`{"x": 1}`, "", ""},
		{" {\"x\": 1}\n", "", ""},
		{`{"x": 1, "y": 2}`, `POST /here: the body is not understood: json: unknown field "y"`, Invalid},
		{`{"x": 1} {}`, "more text behind it", Invalid},
		{`{"x": 1} x`, "invalid character", Invalid},
		{`{"x": "1"}`, "cannot unmarshal string", Invalid},
		{"", "EOF", Invalid},
		{`{"x": ` + strings.Repeat(" ", 100) + `1}`, "the request is longer than 50 bytes; send several requests", TooLarge},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/here", strings.NewReader(tt.body))
		r.Body = http.MaxBytesReader(w, r.Body, 50)
		var p point
		err := Read(r, &p)
		if tt.code == "" {
			if err != nil || p.X != 1 {
				t.Errorf("%.30q: %+v, %v", tt.body, p, err)
			}
			continue
		}
		if !errors.Is(err, &Error{Code: tt.code}) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.30q: %v, want %s with %q", tt.body, err, tt.code, tt.want)
		}
	}
}

// lists is a request that may hold few points.
type lists struct {
	Points []point   `json:"points"`
	Others [][]point `json:"others"`
}

func (*lists) Most() map[string]int { return map[string]int{"points": 3, "": 20} }

// What a request holds is counted before anything is made of it: by key, however it is
// written, and altogether.
func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		body, want string
		code       Code
	}{
		{`{"points": [{}, {"x": 1}, {}], "others": [[{}, {}], [{}, {}]]}`, "", ""},
		{`{"points": [{}, {}, {}], "others": [[` + strings.Repeat("{}, ", 9) + `{}], [{}, {}]]}`, "", ""}, // 20 values
		{`{"points": [{}, {}, {}], "others": [[` + strings.Repeat("{}, ", 10) + `{}], [{}, {}]]}`, "more than 20 values", TooLarge},
		{`{"points": [{"x": [1]}, {}, {}, {}]}`, "4 points", TooLarge},
		{`{"others": 1e999, "points": [{}, {}, {}, {}]}`, "4 points", TooLarge},
		{`{"points": [{}, {}, {}, {}]}`, "points: 4 points, want at most 3", TooLarge},
		{`{"POINT\u017f": [{}, {}, {}, {}]}`, "4 points", TooLarge},
		{`{"points": [{}, {}], "points": [{}, {}]}`, "4 points", TooLarge},
		{`{"others": [[` + strings.Repeat("{},", 20) + `{}]]}`, "more than 20 values", TooLarge},
		{`{"others": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "holds more", TooLarge},
		{`{"points": [{}, {}, {}]]`, "invalid character", Invalid},
	} {
		var in lists
		err := Read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/here", strings.NewReader(tt.body)), &in)
		if tt.code == "" {
			if err != nil || len(in.Points) != 3 || len(in.Others[1]) != 2 {
				t.Errorf("%s: %+v, %v", tt.body, in, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Code != tt.code || !strings.Contains(err.Error(), tt.want) || len(in.Points)+len(in.Others) > 0 {
			t.Errorf("%.60s: %v with %d points, want %s with %q", tt.body, err, len(in.Points), tt.code, tt.want)
		}
	}
	var deep any
	err := Read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/here", strings.NewReader(strings.Repeat("[", 1000)+strings.Repeat("]", 1000))), &deep)
	if err == nil || !strings.Contains(err.Error(), "deeper than 100") {
		t.Errorf("1000 lists in each other: %v", err)
	}
}

// row is a request that is one list, rows the same and read one by one.
type row struct {
	Points []point `json:"points"`
}

func (*row) Most() map[string]int { return (*lists)(nil).Most() }

type rows struct {
	Points []point `json:"points"`
	most   int     // the largest number of points that were there when another was read
}

func (*rows) Most() map[string]int { return (*lists)(nil).Most() }

func (r *rows) Stream() (string, func(*json.Decoder) error) {
	r.Points = nil
	return "points", func(d *json.Decoder) error {
		var p point
		err := d.Decode(&p)
		r.most, r.Points = max(r.most, len(r.Points)), append(r.Points, p)
		return err
	}
}

// A list that is read one by one holds what it holds when it is read whole, and is refused with
// the same words.
func TestStream(t *testing.T) {
	for _, body := range []string{
		`{"points": []}`, `{"points": [{"x": 1}, {"X": 2}, null]}`, " {\"points\"\n: [ {\"x\": 1} ] } \n", `{"points": null}`, `{}`, `null`, `[]`, `""`, ``, `7`,
		`{"POINTS": [{"x": 1}]}`, `{"points": [{"x": 1}], "points": [{}, {"x": 2}]}`, `{"points": [{"x": 1}]} x`, `{"points": [{"x": 1}]} {}`,
		`{"points": [{"x": 1}], "y": 2}`, `{"points": [{"x": 1, "y": 2}]}`, `{"points": [{"x": 1}, {"x": "1"}]}`, `{"points": [{"x": 1}, 5]}`,
		`{"points": [{"x": 1}}`, `{"points": [{"x": 1}]`, `{"points": [{"x": 1} {"x": 2}]}`, `{"points": {"x": 1}}`, `{"points": [{}, {}, {}, {}]}`,
	} {
		var whole row
		var one rows
		read := func(to any) error {
			return Read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/here", strings.NewReader(body)), to)
		}
		wrong, got := read(&whole), read(&one)
		if strings.ReplaceAll(fmt.Sprint(got), "rows", "row") != fmt.Sprint(wrong) || fmt.Sprint(one.Points) != fmt.Sprint(whole.Points) {
			t.Errorf("%s: %v with %v, read whole %v with %v", body, got, one.Points, wrong, whole.Points)
		}
	}
	var one rows
	if err := Read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/here", strings.NewReader(`{"points": [{}, {}, {}]}`)), &one); err != nil || one.most != 2 {
		t.Errorf("%v, and the last of three points was read with %d there", err, one.most)
	}
}

// A body that ends before its length is none, however much of it there is.
func TestCutShort(t *testing.T) {
	var p point
	body := io.MultiReader(strings.NewReader(`{"x": 1}`), iotest.ErrReader(io.ErrUnexpectedEOF))
	if err := Read(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/here", body), &p); err == nil || !strings.Contains(err.Error(), "unexpected EOF") || p.X != 0 {
		t.Errorf("%v, %+v", err, p)
	}
}

// Each code goes with its status, what is no Error is a failure, and so is an answer that
// JSON cannot say.
func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		write  func(w http.ResponseWriter)
		status int
		body   string
	}{
		{func(w http.ResponseWriter) { Answer(w, point{2}) }, 200, `{"x":2}`},
		{func(w http.ResponseWriter) { Answer(w, point{math.NaN()}) }, 500, `{"code":"failed","what":"json: unsupported value: NaN"}`},
		{func(w http.ResponseWriter) { Refuse(w, errors.New("broken")) }, 500, `{"code":"failed","what":"broken"}`},
		{
			func(w http.ResponseWriter) {
				Refuse(w, fmt.Errorf("wrapped: %w", Errorf(Invalid, "x", "want 1", "is %d", 2)))
			},
			400, `{"code":"invalid","what":"is 2","where":"x","do":"want 1"}`,
		},
		{func(w http.ResponseWriter) { Refuse(w, Errorf(Forbidden, "", "", "")) }, 403, ""},
		{func(w http.ResponseWriter) { Refuse(w, Errorf(NotFound, "", "", "")) }, 404, ""},
		{func(w http.ResponseWriter) { Refuse(w, Errorf(Conflict, "", "", "")) }, 409, ""},
		{func(w http.ResponseWriter) { Refuse(w, Errorf(TooLarge, "", "", "")) }, 413, ""},
		{func(w http.ResponseWriter) { Refuse(w, Errorf(OverLimit, "", "", "")) }, 429, ""},
		{func(w http.ResponseWriter) { Refuse(w, Errorf(Unavailable, "", "", "")) }, 503, ""},
	} {
		w := httptest.NewRecorder()
		tt.write(w)
		if got := strings.TrimSpace(w.Body.String()); w.Code != tt.status || tt.body != "" && got != tt.body || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("status %d: %s, want %d: %s", w.Code, got, tt.status, tt.body)
		}
	}
}
