import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Prints what is at an address, by Java's own HTTP client. */
class Fetch {
	public static void main(String[] words) throws Exception {
		HttpRequest request = HttpRequest.newBuilder(URI.create(words[0])).build();
		System.out.print(HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body());
	}
}
