import { createHash, createHmac } from "node:crypto";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/**
 * The Authorization of Signature Version 4 as its description says it, of what the request says it signs, for whichever service
 * and region.
 */
export function signatureOf(request: Request, body: string, { accessKeyId, secret }: { accessKeyId: string; secret: string }) {
  const url = new URL(request.url);
  const given = request.headers.get("authorization") ?? "";
  const signed = /SignedHeaders=([^,]+)/.exec(given)?.[1] ?? "";
  const [, regionAndService = ""] = /Credential=[^/]+\/\d{8}\/([^/]+\/[^/]+)\/aws4_request/.exec(given) ?? [];
  const time = request.headers.get("x-amz-date") ?? "";
  const scope = `${time.slice(0, 8)}/${regionAndService}/aws4_request`;
  const headers = signed.split(";").map((name) => `${name}:${name === "host" ? url.host : request.headers.get(name)}\n`);
  const query = [...url.searchParams].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).toSorted();
  const payload = request.headers.get("x-amz-content-sha256") === "UNSIGNED-PAYLOAD" ? "UNSIGNED-PAYLOAD" : sha256(body);
  const canonical = [request.method, url.pathname, query.join("&"), headers.join(""), signed, payload].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n");
  const keyed = scope.split("/").reduce((key: string | Buffer, part) => createHmac("sha256", key).update(part).digest(), `AWS4${secret}`);
  const signature = createHmac("sha256", keyed).update(toSign).digest("hex");
  return `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
}
