// gorilla/websocket as a server that sends messages back, with the settings that make it fastest and keep the
// comparison fair.
//
// One core (GOMAXPROCS 1). Messages are read into a buffer that its connection uses again, and not into a new one each
// time (ReadMessage). Without sizes of its own the upgrader uses the buffers of net/http. It has neither compression
// nor time limits.
package main

import (
	"bytes"
	"flag"
	"log"
	"net/http"
	"runtime"

	"github.com/gorilla/websocket"
)

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "IP:PORT")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	log.Fatal(http.ListenAndServe(*listen, http.HandlerFunc(sendBack)))
}

func sendBack(response http.ResponseWriter, request *http.Request) {
	connection, err := upgrader.Upgrade(response, request, nil)
	if err != nil {
		return
	}
	defer connection.Close()
	var message bytes.Buffer
	for {
		kind, reader, err := connection.NextReader()
		if err != nil {
			return
		}
		message.Reset()
		if _, err := message.ReadFrom(reader); err != nil {
			return
		}
		if err := connection.WriteMessage(kind, message.Bytes()); err != nil {
			return
		}
	}
}
