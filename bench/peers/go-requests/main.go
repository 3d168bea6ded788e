// Go's net/http as a client without TLS.
//
// One Transport on one core, a goroutine for each request in flight, content read through one buffer for
// each goroutine. net/http chooses the number of connections, or MaxConnsPerHost limits it, which is
// exceeded where all streams of them are in use. StrictMaxConcurrentRequests would enforce it, but with Go
// 1.26 more requests than streams did not end within ten times their time.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
)

var hello = []byte("Hello, world!")

func main() {
	url := flag.String("url", "", "URL of all requests")
	count := flag.Int64("count", 1, "requests in all")
	concurrency := flag.Int64("concurrency", 1, "requests in flight at once")
	bodyBytes := flag.Int("body-bytes", 0, "bytes of content of each POST; 0 is a GET")
	connections := flag.Int("connections", 0, "the most that may be open; 0 is no limit")
	version := flag.Int("http", 2, "the version of HTTP: 1 or 2")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	transport := &http.Transport{DisableCompression: true, MaxConnsPerHost: *connections}
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(*version == 1)
	transport.Protocols.SetUnencryptedHTTP2(*version == 2)
	transport.MaxIdleConnsPerHost = int(*concurrency)
	client := &http.Client{Transport: transport}
	content := make([]byte, *bodyBytes)
	for i := range content {
		content[i] = 'a' + byte(i%26)
	}

	var next atomic.Int64
	var slots sync.WaitGroup
	for i := int64(0); i < min(*concurrency, *count); i++ {
		slots.Go(func() {
			buffer := make([]byte, 512)
			for next.Add(1) <= *count {
				if err := exchange(client, *url, content, buffer); err != nil {
					log.Fatal(err)
				}
			}
		})
	}
	slots.Wait()
}

func exchange(client *http.Client, url string, content, buffer []byte) error {
	method, body := http.MethodGet, io.Reader(nil)
	if len(content) > 0 {
		method, body = http.MethodPost, bytes.NewReader(content)
	}
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	length, err := io.ReadFull(response.Body, buffer)
	if err != io.ErrUnexpectedEOF {
		return fmt.Errorf("a response of %d bytes: %v", length, err)
	}
	if response.StatusCode != http.StatusOK || !bytes.Equal(buffer[:length], hello) {
		return fmt.Errorf("%s and %d bytes", response.Status, length)
	}
	return nil
}
