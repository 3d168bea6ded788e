// h2spec, which `cargo xtask conformance` builds. v2.2.1 is its last release; it has no go.mod of
// its own, so what it depends on is pinned here, to versions that Debian 12's Go (1.19) builds too.
// Another version: `go get github.com/summerwind/h2spec/cmd/h2spec@VERSION` in this folder, and the
// numbers of its cases in xtask/src/conformance/h2spec.rs and h2specd.rs. `go mod tidy` would empty
// this file.
module stoop/h2spec

go 1.19

require github.com/summerwind/h2spec v2.2.1+incompatible

require (
	github.com/fatih/color v1.15.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.17 // indirect
	github.com/spf13/cobra v1.7.0 // indirect
	github.com/spf13/pflag v1.0.5 // indirect
	golang.org/x/net v0.17.0 // indirect
	golang.org/x/sys v0.13.0 // indirect
	golang.org/x/text v0.13.0 // indirect
)
