//go:build go1.24

package main

import "net/http"

func init() {
	priorKnowledge = func(server *http.Server) {
		server.Protocols = new(http.Protocols)
		server.Protocols.SetUnencryptedHTTP2(true)
	}
}
