//go:build go1.24

package main

import "net/http"

func init() {
	priorKnowledge = func(transport *http.Transport) {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
}
