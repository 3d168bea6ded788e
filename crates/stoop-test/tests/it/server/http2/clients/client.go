// Talks HTTP/2 to each URL, and says how it went; a certificate of our own is trusted.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Makes a transport speak HTTP/2 without TLS, where this Go can.
var priorKnowledge func(*http.Transport)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	pem, err := os.ReadFile(os.Args[1])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, origin := range os.Args[2:] {
		transport := &http.Transport{
			TLSClientConfig:       &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2:     true,
			ExpectContinueTimeout: 5 * time.Minute,
		}
		if strings.HasPrefix(origin, "http:") {
			if priorKnowledge == nil {
				fmt.Println("needs Go 1.24")
				continue
			}
			priorKnowledge(transport)
		}
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		var all sync.WaitGroup
		for worker := 0; worker < 8; worker++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for n := 0; n < 25; n++ {
					exchange(client, origin, n)
				}
			}()
		}
		all.Wait()
		transport.CloseIdleConnections()
		fmt.Println("fine")
	}
}

// The response's content and trailers, which must be of HTTP/2 and 200.
func read(response *http.Response, err error) ([]byte, http.Header) {
	check(err)
	if response.ProtoMajor != 2 || response.StatusCode != 200 {
		panic(fmt.Sprint(response.Proto, response.Status))
	}
	content, err := io.ReadAll(response.Body)
	check(err)
	return content, response.Trailer
}

func exchange(client *http.Client, origin string, n int) {
	content := bytes.Repeat([]byte("x"), n*10000)
	request, err := http.NewRequest("POST", origin+"/echo", io.NopCloser(bytes.NewReader(content)))
	check(err)
	if n%2 == 0 {
		request.Header.Set("Expect", "100-continue")
	}
	request.Trailer = http.Header{"X-Sum": {"1"}}
	echoed, trailers := read(client.Do(request))
	if !bytes.Equal(echoed, content) || trailers.Get("X-Sum") != "1" {
		panic(fmt.Sprint(len(echoed), " bytes came back, and ", trailers))
	}
	streamed, trailers := read(client.Get(origin + "/stream"))
	if len(streamed) != 100000 || trailers.Get("X-Sum") != "100000" {
		panic(fmt.Sprint(len(streamed), " bytes were streamed, and ", trailers))
	}
	response, err := client.Head(origin + "/big")
	if headed, _ := read(response, err); len(headed) != 0 || response.ContentLength != 1<<20 {
		panic(fmt.Sprint("HEAD: ", response.ContentLength))
	}
	// What is not read to its end is reset, and others go on.
	response, err = client.Get(origin + "/endless")
	check(err)
	_, err = io.ReadFull(response.Body, make([]byte, 10000))
	check(err)
	check(response.Body.Close())
}
