package main

// switches is the file that a package with mutants is compiled with.
const switches = `
import (
	swos "os"
	swconv "strconv"
	swcall "syscall"
)

type swOrdered interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

var swActive = func() int {
	text, _ := swos.ReadFile(swFolder + "active")
	id, _ := swconv.Atoi(string(text))
	return id
}()

// Memory, for a test may let its process write no file and open none.
var swReached = func() []byte {
	f, err := swos.OpenFile(swFolder+"reached", swos.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	bytes, _ := swcall.Mmap(int(f.Fd()), 0, int(info.Size()), swcall.PROT_READ|swcall.PROT_WRITE, swcall.MAP_SHARED)
	return bytes
}()

func sw(id int) bool {
	if id < len(swReached) {
		swReached[id] = 1
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
