module stoop.invalid/bench/go-fetch

go 1.25.0
