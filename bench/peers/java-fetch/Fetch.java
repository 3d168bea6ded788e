import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Java's HttpClient under the contract of {@code stoop fetch}.
 *
 * <p>URLs come on standard input; for each, {@code url,code,start_time,duration,length} goes to
 * standard output in the order of completion. One client, asynchronous exchanges, a semaphore for
 * the slots, content that is only counted. HTTP/1.1 only, ten redirects. Its own time limit ends
 * with the head, so the deadline is a timeout on the future, which is then cancelled. It uses the
 * system's resolver, and has no option for another name server.
 */
public final class Fetch {
    private final HttpClient client;
    private final Map<String, String> given;
    private final PrintStream output;
    private final double timeoutSeconds;

    private Fetch(Map<String, String> given) throws Exception {
        this.given = given;
        timeoutSeconds = Double.parseDouble(given.getOrDefault("--timeout", "5"));
        output = new PrintStream(new FileOutputStream(FileDescriptor.out), false);
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.ALWAYS);
        if (given.containsKey("--cacert")) {
            builder.sslContext(trusting(Path.of(given.get("--cacert"))));
        }
        client = builder.build();
    }

    public static void main(String[] words) throws Exception {
        System.setProperty("jdk.httpclient.redirects.retrylimit", "10");
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i + 1 < words.length; i += 2) {
            given.put(words[i], words[i + 1]);
        }
        new Fetch(given).run();
    }

    private static SSLContext trusting(Path pem) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var bytes = Files.newInputStream(pem)) {
            int number = 0;
            for (var one : CertificateFactory.getInstance("X.509").generateCertificates(bytes)) {
                store.setCertificateEntry("ca" + number++, one);
            }
        }
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    private void run() throws Exception {
        int concurrency = Integer.parseInt(given.getOrDefault("--concurrency", "100"));
        var slots = new Semaphore(concurrency);
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String target = line.strip();
            if (target.isEmpty() || target.startsWith("#")) {
                continue;
            }
            slots.acquire();
            fetch(target).whenComplete((nothing, error) -> slots.release());
        }
        slots.acquire(concurrency);
        flush();
        // Threads of exchanges whose deadline has passed may still be waiting.
        System.exit(0);
    }

    private CompletableFuture<Void> fetch(String target) {
        Instant start = Instant.now();
        long clock = System.nanoTime();
        var length = new AtomicLong();
        return exchange(target, length).handle((code, error) -> {
            String word = error == null ? Integer.toString(code) : name(error);
            long bytes = error == null ? length.get() : 0;
            long duration = (System.nanoTime() - clock) / 1_000_000;
            String url = target.matches(".*[,\"].*")
                    ? '"' + target.replace("\"", "\"\"") + '"' : target;
            print(url + ',' + word + ',' + start.truncatedTo(ChronoUnit.MILLIS) + ',' + duration
                    + ',' + bytes + '\n');
            return null;
        });
    }

    private CompletableFuture<Integer> exchange(String target, AtomicLong length) {
        try {
            URI uri = URI.create(target.contains("://") ? target : "https://" + target);
            HttpRequest request = HttpRequest.newBuilder(uri)
                    .header("User-Agent", given.getOrDefault("--user-agent", "java"))
                    .build();
            var whole = client.sendAsync(request, HttpResponse.BodyHandlers.ofByteArrayConsumer(
                    piece -> piece.ifPresent(bytes -> length.addAndGet(bytes.length))));
            long nanos = (long) (timeoutSeconds * 1e9);
            return whole.copy().orTimeout(nanos, TimeUnit.NANOSECONDS)
                    .thenApply(HttpResponse::statusCode)
                    .whenComplete((code, error) -> {
                        if (error != null) {
                            whole.cancel(true);
                        }
                    });
        } catch (IllegalArgumentException error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    /** The kind of a failure, without commas. */
    private static String name(Throwable error) {
        while (error instanceof CompletionException && error.getCause() != null) {
            error = error.getCause();
        }
        if (error instanceof TimeoutException || error instanceof HttpTimeoutException) {
            return "timeout";
        }
        return error instanceof IllegalArgumentException
                ? "invalid_url" : error.getClass().getSimpleName();
    }

    private final StringBuilder waiting = new StringBuilder();

    private synchronized void print(String line) {
        waiting.append(line);
        if (waiting.length() > 32 * 1024) {
            flush();
        }
    }

    private synchronized void flush() {
        byte[] bytes = waiting.toString().getBytes(StandardCharsets.UTF_8);
        waiting.setLength(0);
        output.write(bytes, 0, bytes.length);
        output.flush();
    }
}
