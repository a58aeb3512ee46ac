import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startListening } from "../pki/tls-servers";

/**
 * Starts nginx before a server, one address for each of `shapes`: the directives of its location, `/` unless said. In them
 * `$app` is the server's host and port; with `upstream` it is the group `a`.
 */
export async function startReverseProxy<Shape extends string>(server: string, shapes: Record<Shape, string>, location = "/") {
  const prefix = mkdtempSync(join(tmpdir(), "certitude-nginx-"));
  const { host } = new URL(server);
  const urls = {} as Record<Shape, string>;
  const blocks: string[] = [];
  let port = 0;
  for (const shape of Object.keys(shapes) as Shape[]) {
    port = await freePort();
    urls[shape] = `http://127.0.0.1:${port}${location.replace(/\/$/, "")}`;
    blocks.push(`server { listen 127.0.0.1:${port}; location ${location} { ${shapes[shape].replaceAll("$app", host)} } }`);
  }
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${prefix}/${each};`).join(" ");
  mkdirSync(join(prefix, "logs"));
  const config = join(prefix, "nginx.conf");
  writeFileSync(config, `pid ${prefix}/pid; events {} http { access_log off; ${temporary} upstream a { server ${host}; } ${blocks.join("\n")} }`);
  const nginx = await startListening(["nginx", "-p", prefix, "-c", config, "-e", join(prefix, "error.log"), "-g", "daemon off;"], port);
  async function stop() {
    await nginx.stop();
    rmSync(prefix, { recursive: true });
  }
  return { urls, stop };
}
