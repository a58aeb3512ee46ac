import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSocket;

/** Java at both ends of TLS, with the keystores that its system properties name: fetches an address, or serves until it is killed. */
public class TlsPeer {
  public static void main(String[] arguments) throws Exception {
    if (arguments.length > 0) fetch(arguments[0]);
    else serve();
  }

  private static void fetch(String address) throws Exception {
    try (var answer = ((HttpsURLConnection) URI.create(address).toURL().openConnection()).getInputStream()) {
      System.out.println(new String(answer.readAllBytes()));
    } catch (ConnectException nobody) {
      throw nobody;
    } catch (IOException refusal) { // by either side: a server may hang up on a client without a certificate
      System.err.println("certificate: " + refusal.getMessage());
      System.exit(1);
    }
  }

  private static void serve() throws Exception {
    try (var server = (SSLServerSocket) SSLServerSocketFactory.getDefault().createServerSocket(0)) {
      System.out.println(server.getLocalPort());
      while (true) {
        try (var socket = (SSLSocket) server.accept()) {
          socket.startHandshake();
        } catch (SSLException refused) {
          System.err.println(refused.getMessage());
        }
      }
    }
  }
}
