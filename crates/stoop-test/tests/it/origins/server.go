// Serves the files of a folder over HTTP/2, echoes content, and sends a trailer.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

// Makes a server speak HTTP/2 without TLS, where this Go can.
var priorKnowledge func(*http.Server)

func main() {
	address, folder, tls := os.Args[1], os.Args[2], len(os.Args) > 3
	http.Handle("/", http.FileServer(http.Dir(folder)))
	http.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	})
	http.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "hello")
		w.(http.Flusher).Flush() // Its length is not told.
		w.Header().Set("X-Sum", "5")
	})
	server := &http.Server{Addr: address}
	if tls {
		log.Fatal(server.ListenAndServeTLS(folder+"/ca.pem", folder+"/key.pem"))
	}
	if priorKnowledge == nil {
		log.Fatal("HTTP/2 without TLS needs Go 1.24")
	}
	priorKnowledge(server)
	log.Fatal(server.ListenAndServe())
}
