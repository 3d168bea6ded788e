// Go's net/http as a server, with the settings that make it fastest and keep the comparison fair.
//
// One core: GOMAXPROCS is 1, as the runner gives it one core anyway. The multiplexer is not used,
// TCP_NODELAY is Go's default, time limits are off, which is its default too, and content-length is
// set explicitly where the content is known. net/http writes through a buffer of 4 KiB for each
// connection, so that pipelined responses are sent together. The listener's backlog is the kernel's
// somaxconn. The works that measure clients also request `/wait`, which is answered after one second, and
// some works request `/spin`, which takes 50 µs of processor time, or `/drip`, which is endless.
package main

import (
	"flag"
	"io"
	"log"
	"net/http"
	"runtime"
	"strconv"
	"time"
)

const (
	pieceBytes = 64 << 10
	dripBytes  = 1000
	spin       = 50 * time.Microsecond
)

var (
	hello = []byte("Hello, world!")
	text  = agreedText(1 << 20)
)

func agreedText(bytes int) []byte {
	text := make([]byte, bytes)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	return text
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "IP:PORT")
	cert := flag.String("cert", "", "PEM file, for TLS")
	key := flag.String("key", "", "PEM file, for TLS")
	http2 := flag.Bool("http2", false, "HTTP/2, and nothing else")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	server := &http.Server{Addr: *listen, Handler: http.HandlerFunc(answer)}
	// One version only, as for all other contenders.
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(!*http2)
	server.Protocols.SetHTTP2(*http2)
	server.Protocols.SetUnencryptedHTTP2(*http2)
	if *cert == "" {
		log.Fatal(server.ListenAndServe())
	}
	log.Fatal(server.ListenAndServeTLS(*cert, *key))
}

func answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		whole(w, hello)
		return
	}
	switch r.URL.Path {
	case "/wait":
		time.Sleep(time.Second)
		whole(w, hello)
	case "/spin":
		for started := time.Now(); time.Since(started) < spin; {
		}
		whole(w, hello)
	case "/drip":
		w.Header().Set("Content-Type", "text/plain")
		for {
			if _, err := w.Write(text[:dripBytes]); err != nil {
				return
			}
		}
	case "/820":
		whole(w, text[:820])
	case "/1m":
		whole(w, text)
	case "/stream":
		w.Header().Set("Content-Type", "text/plain")
		for at := 0; at < len(text); at += pieceBytes {
			if _, err := w.Write(text[at : at+pieceBytes]); err != nil {
				return
			}
		}
	default:
		whole(w, hello)
	}
}

func whole(w http.ResponseWriter, content []byte) {
	fields := w.Header()
	fields.Set("Content-Type", "text/plain")
	fields.Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}
