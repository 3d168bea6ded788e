// Serves the files of a folder over HTTP/2, echoes content, sends a trailer, and does what servers
// do when something goes wrong.
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

// Makes a server speak HTTP/2 without TLS, where this Go can.
var priorKnowledge func(*http.Server)

func main() {
	address, folder, tls := os.Args[1], os.Args[2], len(os.Args) > 3
	// Whether it listens is seen by connecting, which would be logged as a failed handshake.
	server := &http.Server{Addr: address, ErrorLog: log.New(io.Discard, "", 0)}
	parting, parted := make(chan struct{}), make(chan struct{})
	server.RegisterOnShutdown(func() { close(parting) })
	http.Handle("/", http.FileServer(http.Dir(folder)))
	http.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	})
	http.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		begin(w, "hello") // Its length is not told.
		w.Header().Set("X-Sum", "5")
	})
	http.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		io.WriteString(w, "hello")
	})
	http.HandleFunc("/refuse", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	})
	http.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) {
		panic(http.ErrAbortHandler)
	})
	http.HandleFunc("/panic/late", func(w http.ResponseWriter, r *http.Request) {
		begin(w, "hello")
		panic(http.ErrAbortHandler)
	})
	http.HandleFunc("/short", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "hello")
	})
	// The server ends while this is being answered.
	http.HandleFunc("/part", func(w http.ResponseWriter, r *http.Request) {
		begin(w, "hello")
		go func() {
			server.Shutdown(context.Background())
			close(parted)
		}()
		<-parting
		io.WriteString(w, strings.Repeat("x", 1<<20))
	})
	var err error
	if tls {
		err = server.ListenAndServeTLS(folder+"/ca.pem", folder+"/key.pem")
	} else if priorKnowledge == nil {
		log.Fatal("HTTP/2 without TLS needs Go 1.24")
	} else {
		priorKnowledge(server)
		err = server.ListenAndServe()
	}
	if err != http.ErrServerClosed {
		log.Fatal(err)
	}
	<-parted
}

// Writes the head and the first of the content, which leave at once.
func begin(w http.ResponseWriter, content string) {
	io.WriteString(w, content)
	w.(http.Flusher).Flush()
}
