import type { TestOrganization } from "../server/people";
import { newOpenssl } from "./openssl";

const SUBJECT = { commonName: "Example Issuing CA", organization: "Example" };

/** An authority that waits for a certificate from elsewhere. */
export async function newRequested({ admin }: TestOrganization, more: object = {}) {
  const { status, body, text } = await admin("POST", "/authorities", {
    body: { kind: "requested", name: "Requested", subject: SUBJECT, pathLength: 0, ...more },
  });
  if (status !== 201) throw new Error(`the request was answered ${status}: ${text}`);
  return body;
}

type Wish = { extensions?: string; days?: number; withRoot?: boolean };
const CA = "basicConstraints=critical,CA:true,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign";

/** The certificate that a root elsewhere makes of a request. */
export async function signElsewhere(requestPem: string, { extensions = CA, days = 90, withRoot = true }: Wish = {}) {
  const { run, text, write, remove } = newOpenssl();
  const root = ["-newkey", "rsa:2048", "-nodes", "-keyout", "root.key", "-out", "root.pem", "-subj", "/CN=Offline Root", "-days", "900"];
  await run("req", "-x509", ...root, "-addext", "keyUsage=critical,keyCertSign,cRLSign");
  write("request.pem", requestPem);
  write("extensions.cnf", extensions);
  const by = ["-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-days", String(days), "-extfile", "extensions.cnf"];
  await run("x509", "-req", "-in", "request.pem", ...by, "-out", "issuing.pem");
  const pem = `${text("issuing.pem")}${withRoot ? text("root.pem") : ""}`;
  remove();
  return pem;
}
