module stoop.invalid/bench/go-requests

go 1.25.0
