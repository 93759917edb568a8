package main

// switches is the file that a package with mutants is compiled with.
const switches = `
import (
	swos "os"
	swconv "strconv"
	swatomic "sync/atomic"
)

type swOrdered interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

var swActive = func() int {
	text, _ := swos.ReadFile(swFolder + "active")
	id, _ := swconv.Atoi(string(text))
	return id
}()
var swSeen [1 << 14]swatomic.Bool

func sw(id int) bool {
	if swActive == 0 && !swSeen[id].Swap(true) {
		f, err := swos.OpenFile(swFolder+"reached", swos.O_APPEND|swos.O_WRONLY, 0)
		if err == nil {
			f.WriteString(swconv.Itoa(id) + "\n")
			f.Close()
		}
	}
	return id == swActive
}

func swCompare[T swOrdered](id int, op string, a, b T) bool {
	edge := (op == "<=" || op == ">=") != sw(id)
	return a == b && edge || (op[0] == '<') && a < b || (op[0] == '>') && a > b
}

func swLogic(id int, op string, a bool, b func() bool) bool {
	if (op == "&&") != sw(id) {
		return a && b()
	}
	return a || b()
}

func swNumber[T swOrdered](id int, op string, a, b T) T {
	on := sw(id)
	switch {
	case op == "+" && !on, op == "-" && on:
		return a + b
	case op == "-", op == "+":
		return a - b
	case op == "*" && !on, op == "/" && on:
		return a * b
	}
	return a / b
}

func swLiteral[T swOrdered](id int, v T) T {
	if sw(id) {
		return v + 1
	}
	return v
}

func swExtreme[T swOrdered](id int, name string, v ...T) T {
	least, most := v[0], v[0]
	for _, w := range v[1:] {
		least, most = min(least, w), max(most, w)
	}
	if (name == "min") != sw(id) {
		return least
	}
	return most
}
`
