module stoop.invalid/bench/go-http

go 1.25.0
