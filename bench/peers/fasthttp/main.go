// fasthttp as a server, with the settings that make it fastest and keep the comparison fair.
//
// One core (GOMAXPROCS 1), no `server` field, fields written as they are given, no copy of the response's
// content (SetBodyRaw). Time limits are off, which is its default. Content of requests is streamed, so
// that large content is not kept in memory.
package main

import (
	"flag"
	"io"
	"log"
	"runtime"

	"github.com/valyala/fasthttp"
)

const pieceBytes = 64 << 10

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
	flag.Parse()
	runtime.GOMAXPROCS(1)

	server := &fasthttp.Server{
		Handler:                       answer,
		NoDefaultServerHeader:         true,
		DisableHeaderNamesNormalizing: true,
		StreamRequestBody:             true,
		MaxRequestBodySize:            1 << 30,
		Concurrency:                   1 << 20,
	}
	if *cert == "" {
		log.Fatal(server.ListenAndServe(*listen))
	}
	log.Fatal(server.ListenAndServeTLS(*listen, *cert, *key))
}

func answer(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/plain")
	if ctx.IsPost() {
		// Small content is read with the head; large content is a stream.
		if stream := ctx.RequestBodyStream(); stream != nil {
			if _, err := io.Copy(io.Discard, stream); err != nil {
				ctx.SetConnectionClose()
				return
			}
		}
		ctx.Response.SetBodyRaw(hello)
		return
	}
	switch string(ctx.Path()) {
	case "/820":
		ctx.Response.SetBodyRaw(text[:820])
	case "/1m":
		ctx.Response.SetBodyRaw(text)
	case "/stream":
		ctx.SetBodyStream(&pieces{}, -1)
	default:
		ctx.Response.SetBodyRaw(hello)
	}
}

// pieces is the agreed text without a known length. As it implements WriteTo, fasthttp does not copy it
// through a buffer of 4 KiB, as it does with other streams.
type pieces struct{ at int }

func (p *pieces) SupportsBodyWriteTo() bool { return true }

func (p *pieces) WriteTo(w io.Writer) (int64, error) {
	start := p.at
	for p.at < len(text) {
		n, err := w.Write(text[p.at : p.at+pieceBytes])
		p.at += n
		if err != nil {
			return int64(p.at - start), err
		}
	}
	return int64(p.at - start), nil
}

func (p *pieces) Read(into []byte) (int, error) {
	if p.at == len(text) {
		return 0, io.EOF
	}
	n := copy(into, text[p.at:])
	p.at += n
	return n, nil
}
