module stoop.invalid/bench/gorilla

go 1.25.0

require github.com/gorilla/websocket v1.5.3
