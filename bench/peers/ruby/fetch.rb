# async-http as a client under the contract of `stoop fetch`.
#
# URLs come on standard input; for each, `url,code,start_time,duration,length` goes to standard output
# in the order of completion. One reactor, a task for each slot, and for each origin a client with a pool,
# as in its class Internet; at most ten redirects are followed by this program, since async-http follows
# none to other origins. HTTP/1.1 only, no decompression. It uses the system's resolver, and has no option
# for another name server.

ENV["CONSOLE_LEVEL"] ||= "fatal"

require "async"
require "async/barrier"
require "async/http/client"
require "async/http/endpoint"
require "async/http/protocol/http11"
require "openssl"
require "optparse"
require "time"
require "uri"

REDIRECTS_MAX = 10

given = { concurrency: 100, timeout: 5.0, agent: "async-http" }
OptionParser.new do |options|
  options.on("--concurrency N", Integer) { |number| given[:concurrency] = number }
  options.on("--timeout SECONDS", Float) { |seconds| given[:timeout] = seconds }
  options.on("--user-agent TEXT") { |text| given[:agent] = text }
  options.on("--cacert FILE") { |file| given[:ca] = file }
end.parse!

class Fetcher
  def initialize(given)
    @given = given
    @clients = {}
    return unless given[:ca]

    @trusted = OpenSSL::X509::Store.new.tap { |store| store.add_file(given[:ca]) }
  end

  def fetch(target)
    start = Time.now.utc.iso8601(3)
    clock = now
    begin
      url = target.include?("://") ? target : "https://#{target}"
      code, length = Async::Task.current.with_timeout(@given[:timeout]) { follow(url) }
    rescue Async::TimeoutError
      code, length = "timeout", 0
    rescue URI::InvalidURIError, ArgumentError
      code, length = "invalid_url", 0
    rescue StandardError => error
      code, length = error.class.name, 0
    end
    name = target.match?(/[,"]/) ? "\"#{target.gsub('"', '""')}\"" : target
    $stdout.write("#{name},#{code},#{start},#{((now - clock) * 1000).floor},#{length}\n")
  end

  private

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def follow(url)
    (0..REDIRECTS_MAX).each do
      response = get(url)
      location = response.headers["location"]
      status = response.status
      length = 0
      response.each { |piece| length += piece.bytesize }
      return [status, length] unless location && [301, 302, 303, 307, 308].include?(status)

      url = URI.join(url, location).to_s
    end
    ["redirect_limit", 0]
  end

  def get(url)
    endpoint = Async::HTTP::Endpoint.parse(url, protocol: Async::HTTP::Protocol::HTTP11, **tls(url))
    key = [endpoint.scheme, endpoint.authority]
    client = @clients[key] ||= Async::HTTP::Client.new(endpoint, retries: 1)
    client.get(endpoint.path, [["user-agent", @given[:agent]]])
  end

  def tls(url)
    return {} unless @trusted && url.start_with?("https")

    context = OpenSSL::SSL::SSLContext.new
    context.set_params(cert_store: @trusted)
    { ssl_context: context }
  end
end

Async do
  fetcher = Fetcher.new(given)
  barrier = Async::Barrier.new
  given[:concurrency].times do
    barrier.async do
      while (line = $stdin.gets)
        target = line.strip
        fetcher.fetch(target) unless target.empty? || target.start_with?("#")
      end
    end
  end
  barrier.wait
  $stdout.flush
  # The reactor would wait for idle connections.
  exit!(0)
end
