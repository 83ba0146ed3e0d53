// acpsdk is a module of its own, so that dragoman's own version of the library stays what it is.
module acpsdk

go 1.26.0

require github.com/coder/acp-go-sdk v0.13.0
