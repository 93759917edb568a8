package decide

import (
	"encoding"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/internal/golden"
	"example.com/colloc/profile"
)

// operation is what one address takes and answers; nil takes nothing.
type operation struct{ in, out any }

func operations() map[string]operation {
	return map[string]operation{
		"POST /v1/fit":          {FitRequest{}, FitAnswer{}},
		"POST /v1/best":         {BestRequest{}, BestAnswer{}},
		"POST /v1/plan":         {PlanRequest{}, colloc.Plan{}},
		"POST /v1/observe":      {Observation{}, struct{}{}},
		"POST /v1/events":       {EventsRequest{}, EventsAnswer{}},
		"POST /v1/decide":       {ActionsRequest{}, ActionsAnswer{}},
		"GET /v1/jobs/{id}/why": {nil, WhyAnswer{}},
	}
}

type object = map[string]any

// The OpenAPI file of docs is what the requests and answers are, and each of its addresses is
// answered.
func TestOpenAPI(t *testing.T) {
	s := schemas{}
	paths := object{}
	failed := object{"description": "what went wrong", "content": content(s.of(reflect.TypeFor[wire.Error]()))}
	for address, o := range operations() {
		method, path, _ := strings.Cut(address, " ")
		op := object{"responses": object{"200": object{"description": "the answer", "content": content(s.of(reflect.TypeOf(o.out)))}, "default": failed}}
		if o.in != nil {
			op["requestBody"] = object{"required": true, "content": content(s.of(reflect.TypeOf(o.in)))}
		} else {
			op["parameters"] = []object{{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"}}}
		}
		paths[path] = object{strings.ToLower(method): op}
	}
	text, err := json.MarshalIndent(object{
		"openapi": "3.1.0", "info": object{"title": "colloc decide", "version": "1", "description": "See docs/howto/http.md."},
		"paths": paths, "components": object{"schemas": s},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("..", "..", "..", "docs", "openapi.json"), string(text)+"\n")
	h := handler(t, Config{Planner: planner(t), Dispatcher: dispatcher(t)})
	for address := range operations() {
		method, path, _ := strings.Cut(address, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{}")))
		if w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), "no such address") {
			t.Errorf("%s is not answered: %s", address, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/nothing", nil))
	_, list, _ := strings.Cut(w.Body.String(), "the addresses are ")
	list, _, _ = strings.Cut(list, "\"")
	said := strings.Split(strings.ReplaceAll(list, "ID", "{id}"), ", ")
	slices.Sort(said)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(operations())), said); diff != "" {
		t.Errorf("the file has other addresses than the handler (-file +handler):\n%s", diff)
	}
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }

// schemas are those of the types with a name, by it.
type schemas map[string]object

// of is the schema of a type as encoding/json writes it.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return object{"type": "integer", "description": "nanoseconds"}
	case t == reflect.TypeFor[profile.Bytes]():
		return object{"type": []string{"integer", "string"}, "description": "bytes; a text such as 6GiB is read, too"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	if get, ok := t.MethodByName("Get"); ok && strings.HasPrefix(t.Name(), "Opt[") {
		return s.of(get.Type.Out(0))
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct:
		return s.named(t)
	default:
		return object{"type": "integer"}
	}
}

// named is a reference to the schema of a struct.
func (s schemas) named(t reflect.Type) object {
	if t.Name() == "" {
		return object{"type": "object"}
	}
	folder, _, _ := strings.Cut(t.String(), ".")
	name := strings.TrimPrefix(folder, "decide") + t.Name()
	if s[name] == nil {
		s[name] = object{} // while it is made: a type may hold itself
		properties := object{}
		s.fields(t, properties)
		s[name] = object{"type": "object", "properties": properties}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields adds those of a struct; of one name the outermost holds.
func (s schemas) fields(t reflect.Type, to object) {
	var inner []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			inner = append(inner, f.Type)
		case name == "":
			to[f.Name] = s.of(f.Type)
		default:
			to[name] = s.of(f.Type)
		}
	}
	for _, t := range inner {
		more := object{}
		s.fields(t, more)
		for name, schema := range more {
			if to[name] == nil {
				to[name] = schema
			}
		}
	}
}
