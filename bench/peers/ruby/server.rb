# async-http as a server, with the settings that make it fastest and keep the comparison fair.
#
# One process, one reactor, no log. The headers are created once, and the date, which async-http does not
# add, once a second. HTTP/1.1 without the protocol detection that it has by default.

ENV["CONSOLE_LEVEL"] ||= "error"

require "async"
require "async/http/server"
require "async/http/endpoint"
require "async/http/protocol/http11"
require "openssl"
require "optparse"
require "time"

HELLO = "Hello, world!"
TEXT = ("abcdefghijklmnopqrstuvwxyz" * (1 + (1 << 20) / 26))[0, 1 << 20].freeze
OF_820 = TEXT[0, 820].freeze
PIECES = (0...16).map { |number| TEXT[number << 16, 1 << 16].freeze }.freeze

# A body in pieces, without a known length.
class Pieces < Protocol::HTTP::Body::Readable
  def initialize
    @rest = PIECES.dup
  end

  def empty?
    @rest.empty?
  end

  def read
    @rest.shift
  end
end

given = {}
OptionParser.new do |options|
  options.on("--listen ADDRESS") { |address| given[:listen] = address }
  options.on("--cert FILE") { |file| given[:cert] = file }
  options.on("--key FILE") { |file| given[:key] = file }
end.parse!

def dated
  now = Process.clock_gettime(Process::CLOCK_REALTIME, :second)
  return @fields if now == @second

  @second = now
  @fields = Protocol::HTTP::Headers[[["content-type", "text/plain"], ["date", Time.at(now).httpdate]]]
end

def answer(request)
  if request.method == "POST"
    request.body&.each { |_| }
    return Protocol::HTTP::Response[200, dated, [HELLO]]
  end
  content = case request.path
            when "/820" then [OF_820]
            when "/1m" then [TEXT]
            when "/stream" then Pieces.new
            else [HELLO]
            end
  Protocol::HTTP::Response[200, dated, content]
end

options = { protocol: Async::HTTP::Protocol::HTTP11 }
if given[:cert]
  context = OpenSSL::SSL::SSLContext.new
  context.cert = OpenSSL::X509::Certificate.new(File.read(given[:cert]))
  context.key = OpenSSL::PKey.read(File.read(given[:key]))
  options[:ssl_context] = context
end
scheme = given[:cert] ? "https" : "http"
endpoint = Async::HTTP::Endpoint.parse("#{scheme}://#{given[:listen]}", **options)

Async do
  Async::HTTP::Server.for(endpoint) { |request| answer(request) }.run
end
