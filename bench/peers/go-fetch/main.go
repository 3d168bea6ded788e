// Go's net/http as a client under the contract of `stoop fetch`.
//
// URLs come on standard input; for each, `url,code,start_time,duration,length` goes to standard
// output in the order of completion. One Transport, a goroutine for each slot, content read through one
// buffer for each slot and only counted. HTTP/1.1 unless HTTP/2 is allowed by an option, no decompression,
// ten redirects, one deadline up to the last byte. Idle connections are kept up to the concurrency, per
// host and in total: with net/http's default of two per host, connections would be opened again and again.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

var errRedirects = errors.New("redirect_limit")

type settings struct {
	concurrency int
	timeout     float64
	userAgent   string
	caFile      string
	dns         string
	http2       bool
}

func main() {
	var s settings
	flag.IntVar(&s.concurrency, "concurrency", 100, "requests in flight at once")
	flag.Float64Var(&s.timeout, "timeout", 5, "seconds for one URL")
	flag.StringVar(&s.userAgent, "user-agent", "go", "User-Agent")
	flag.StringVar(&s.caFile, "cacert", "", "trust these PEM certificates and no others")
	flag.StringVar(&s.dns, "dns", "", "IP:PORT of the name server to ask")
	flag.BoolVar(&s.http2, "http2", false, "HTTP/2 with servers that agree on it by ALPN")
	flag.Parse()

	client, err := newClient(s)
	if err != nil {
		log.Fatal(err)
	}
	targets := make(chan string, s.concurrency)
	output := bufio.NewWriterSize(os.Stdout, 64<<10)
	var lock sync.Mutex
	var slots sync.WaitGroup
	for i := 0; i < s.concurrency; i++ {
		slots.Add(1)
		go func() {
			defer slots.Done()
			buffer := make([]byte, 32<<10)
			for target := range targets {
				line := fetch(client, s.userAgent, target, buffer)
				lock.Lock()
				output.WriteString(line)
				lock.Unlock()
			}
		}()
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	for input.Scan() {
		target := strings.TrimSpace(input.Text())
		if target != "" && target[0] != '#' {
			targets <- target
		}
	}
	close(targets)
	slots.Wait()
	if err := errors.Join(input.Err(), output.Flush()); err != nil {
		log.Fatal(err)
	}
}

func newClient(s settings) (*http.Client, error) {
	dialer := &net.Dialer{}
	if s.dns != "" {
		dialer.Resolver = &net.Resolver{
			PreferGo: true,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, s.dns)
			},
		}
	}
	config := &tls.Config{}
	if s.caFile != "" {
		pem, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	transport := &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     config,
		DisableCompression:  true,
		MaxIdleConns:        s.concurrency,
		MaxIdleConnsPerHost: s.concurrency,
	}
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.Protocols.SetHTTP2(s.http2)
	redirect := func(_ *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errRedirects
		}
		return nil
	}
	timeout := time.Duration(s.timeout * float64(time.Second))
	return &http.Client{Transport: transport, CheckRedirect: redirect, Timeout: timeout}, nil
}

func fetch(client *http.Client, userAgent, target string, buffer []byte) string {
	start := time.Now()
	code, length, err := exchange(client, userAgent, target, buffer)
	if err != nil {
		code, length = errorName(err), 0
	}
	name := target
	if strings.ContainsAny(name, ",\"\r\n") {
		name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	stamp := start.UTC().Format("2006-01-02T15:04:05.000Z")
	return fmt.Sprintf("%s,%s,%s,%d,%d\n", name, code, stamp, time.Since(start).Milliseconds(), length)
}

func exchange(client *http.Client, userAgent, target string, buffer []byte) (string, int64, error) {
	if !strings.Contains(target, "://") {
		target = "https://" + target
	}
	request, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		return "", 0, errors.New("invalid_url")
	}
	request.Header.Set("User-Agent", userAgent)
	response, err := client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	// The wrappers hide ReadFrom and WriteTo, so that the buffer of the slot is used.
	length, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{response.Body}, buffer)
	return fmt.Sprint(response.StatusCode), length, err
}

// errorName is the kind of a failure, without commas.
func errorName(err error) string {
	var urlError *url.Error
	if errors.As(err, &urlError) && urlError.Timeout() || errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
		return "timeout"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	name, _, _ := strings.Cut(err.Error(), ":")
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(",\"\r\n", r) {
			return ' '
		}
		return r
	}, name)
}
