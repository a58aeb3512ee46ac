import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { authorityOf } from "#agent/authority";
import { thisHost } from "#agent/host/host";
import { readMaterial } from "#agent/material";
import { permitsAnchor } from "#agent/policy/anchors";
import { anchorDemandsOf } from "#agent/policy/demands";
import type { Desired } from "#agent/server-client";
import { readTarget } from "#agent/targets";
import { desired } from "../../support/agent/agent-host";
import { certificate, chain } from "../../support/pki/certificates";
import { constrained } from "../../support/pki/constrained";

const { root, intermediate } = chain();
const sha256 = (pem: string) => authorityOf(pem, []).fingerprint;
const permits = (rule: string, pem: string, above: string[] = [], store = "java_cacerts") => permitsAnchor(rule, store, authorityOf(pem, above));

describe("a rule for authorities", () => {
  test("by fingerprint permits that one alone, in the stores that it names", () => {
    const rule = `sha256:${sha256(root.pem)} stores:java_cacerts`;
    expect(permits(rule, root.pem)).toBe(true);
    expect(permits(rule, root.pem, [], "linux_update_ca_certificates")).toBe(false);
    expect(permits(rule, intermediate.pem, [root.pem])).toBe(false);
    expect(permits("any", intermediate.pem)).toBe(true);
    expect(permits("any stores:nss_shared_db", root.pem)).toBe(false);
  });

  test("by signature permits that root, and what it has signed over any number of authorities", () => {
    const rule = `signed-by:${sha256(root.pem)}`;
    const below = certificate({ isCa: true, issuer: intermediate });
    expect(permits(rule, root.pem)).toBe(true);
    expect(permits(rule, intermediate.pem, [root.pem])).toBe(true);
    expect(permits(rule, below.pem, [intermediate.pem, root.pem])).toBe(true);
    expect(permits(`signed-by:${sha256(intermediate.pem)}`, below.pem, [intermediate.pem])).toBe(true);
  });

  test("by signature is not fooled: by a chain that nothing signed, a name alone, an issuer that is no authority, a certificate below itself", () => {
    const rule = `signed-by:${sha256(root.pem)}`;
    const stranger = certificate({ commonName: "Stranger", isCa: true });
    const namesake = certificate({ commonName: "Test Root", isCa: true });
    const byNamesake = certificate({ isCa: true, issuer: namesake });
    const leaf = certificate({ issuer: root });
    const byLeaf = certificate({ isCa: true, issuer: leaf });
    expect(permits(rule, stranger.pem, [root.pem])).toBe(false);
    expect(permits(rule, byNamesake.pem, [root.pem])).toBe(false);
    expect(permits(rule, byLeaf.pem, [leaf.pem, root.pem])).toBe(false);
    expect(permits(rule, intermediate.pem)).toBe(false);
    expect(permits(`signed-by:${sha256(intermediate.pem)}`, intermediate.pem, [root.pem])).toBe(false);
    expect(permits(rule, stranger.pem, [intermediate.pem, root.pem])).toBe(false);
  });

  test("by signature goes as deep as each authority may sign", () => {
    const narrow = constrained({ basicConstraints: "critical,CA:TRUE,pathlen:0" });
    const rule = `signed-by:${sha256(narrow.pem)}`;
    expect(permits(rule, narrow.issue("CA:TRUE"), [narrow.pem])).toBe(false);
    const wider = constrained({ basicConstraints: "critical,CA:TRUE,pathlen:1" });
    expect(permits(`signed-by:${sha256(wider.pem)}`, wider.issue("CA:TRUE"), [wider.pem])).toBe(true);
    const noSigner = constrained({ keyUsage: "critical,digitalSignature" });
    expect(permits(`signed-by:${sha256(noSigner.pem)}`, noSigner.issue("CA:TRUE"), [noSigner.pem])).toBe(false);
  });

  const rule = "names:corp.example,10.0.0.0/8,2001:db8::/32";
  test.each([
    ["permitted;DNS:corp.example,permitted;IP:10.1.0.0/255.255.0.0", true],
    ["permitted;DNS:a.corp.example,permitted;DNS:.corp.example,permitted;IP:10.0.0.0/255.0.0.0", true],
    ["permitted;DNS:CORP.example,permitted;IP:2001:db8:1::/ffff:ffff:ffff::", true],
    ["permitted;DNS:corp.example,excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:::/::", true],
    ["permitted;DNS:corp.example", false],
    ["permitted;DNS:corp.example,excluded;IP:0.0.0.0/0.0.0.0", false],
    ["permitted;DNS:corp.example,excluded;IP:0.0.0.0/0.0.0.1,excluded;IP:::/::", false],
    ["permitted;DNS:corp.example,permitted;DNS:example,permitted;IP:10.0.0.0/255.0.0.0", false],
    ["permitted;DNS:xcorp.example,permitted;IP:10.0.0.0/255.0.0.0", false],
    ["permitted;IP:10.0.0.0/255.0.0.0", false],
    ["permitted;DNS:corp.example,permitted;IP:11.0.0.0/255.0.0.0", false],
    ["permitted;DNS:corp.example,permitted;IP:10.0.0.0/254.0.0.0", false],
    ["permitted;DNS:corp.example,permitted;IP:10.0.0.0/255.0.255.0", false],
    ["excluded;DNS:other.example,permitted;IP:10.0.0.0/255.0.0.0", false],
    ["permitted;email:corp.example", false],
  ])("by names: an authority that is confined by %s is permitted: %p", (nameConstraints, expected) => {
    expect(permits(rule, constrained({ nameConstraints: `critical,${nameConstraints}` }).pem)).toBe(expected);
  });

  test("by names permits none that may certify every name; several words must all hold", () => {
    expect(permits(rule, root.pem)).toBe(false);
    const confined = constrained({ nameConstraints: "critical,permitted;DNS:corp.example,permitted;IP:10.0.0.0/255.0.0.0" });
    expect(permits(`${rule} signed-by:${sha256(confined.pem)}`, confined.pem)).toBe(true);
    expect(permits(`${rule} signed-by:${sha256(root.pem)}`, confined.pem)).toBe(false);
  });
});

describe("an authority is judged", () => {
  const host = thisHost({});
  const demandsFor = (rest: Partial<Desired> & Pick<Desired, "trustStoreType">) => {
    const item = desired({ pem: root.pem, chain: [], fingerprint: sha256(root.pem) }, rest);
    return anchorDemandsOf(readTarget(item), readMaterial(item), host, false).map((each) => "type" in each && each.type);
  };

  test("for the system's store too, where a program is made to read that one, or may lead there", () => {
    expect(demandsFor({ trustStoreType: "java_cacerts", config: { alias: "x" } })).toEqual(["java_cacerts"]);
    expect(demandsFor({ trustStoreType: "java_cacerts", config: { alias: "x", preferOsStore: true } })).toEqual([
      "java_cacerts",
      "linux_update_ca_certificates",
    ]);
    expect(demandsFor({ trustStoreType: "python_certifi" })).toEqual(["python_certifi", "linux_update_ca_certificates"]);
    expect(demandsFor({ trustStoreType: "python_certifi", config: { trustStorePath: "/opt/x.pem" } })).toEqual(["python_certifi"]);
  });

  test("whatever it is sent as: also as a server's own certificate", () => {
    const config = { trustStorePath: "/etc/nginx/ssl" };
    expect(demandsFor({ trustStoreType: "nginx_tls", materialType: "server_certificate", config })).toEqual(["nginx_tls"]);
    const leaf = certificate();
    const item = desired(
      { pem: leaf.pem, chain: [], fingerprint: sha256(leaf.pem) },
      { trustStoreType: "nginx_tls", materialType: "server_certificate", config },
    );
    expect(anchorDemandsOf(readTarget(item), readMaterial(item), host, false)).toEqual([]);
  });

  test("for the system's store too, where another kind of store names its bundle, also through a link", () => {
    const { bundle } = host.system;
    const directory = mkdtempSync(join(tmpdir(), "certitude-anchors-"));
    symlinkSync(dirname(bundle), join(directory, "linked"));
    for (const trustStorePath of [bundle, join(directory, "linked", basename(bundle))])
      expect(demandsFor({ trustStoreType: "pem_ca_bundle", config: { trustStorePath } })).toEqual(["pem_ca_bundle", "linux_update_ca_certificates"]);
    expect(demandsFor({ trustStoreType: "pem_ca_bundle", config: { trustStorePath: join(directory, "bundle.pem") } })).toEqual(["pem_ca_bundle"]);
    rmSync(directory, { recursive: true });
  });

  test("in a keystore of Java, whatever certificate it is, but for one whose key never left this host", () => {
    const leaf = certificate();
    const config = { trustStorePath: "/opt/app.p12", alias: "app", storePasswordRef: "file:/opt/password" };
    const sent = { pem: leaf.pem, chain: [], fingerprint: sha256(leaf.pem) };
    const item = desired(sent, { trustStoreType: "java_keystore_pkcs12", materialType: "client_certificate", config });
    const count = (isOwnKey: boolean) => anchorDemandsOf(readTarget(item), readMaterial(item), host, isOwnKey).length;
    expect([count(false), count(true)]).toEqual([1, 0]);
  });

  test("without its own constraints of names where Java reads the store, which takes no notice of them: the system's too, where Java's is made of it", () => {
    const { pem } = constrained({ nameConstraints: "critical,permitted;DNS:corp.example,permitted;IP:10.0.0.0/255.0.0.0" });
    const item = desired({ pem, chain: [], fingerprint: sha256(pem) }, { trustStoreType: "linux_update_ca_certificates", config: { alias: "x" } });
    const namesWith = (javaStore: string) =>
      anchorDemandsOf(readTarget(item), readMaterial(item), { ...host, system: { ...host.system, javaStore } }, false).map(
        (each) => each.kind === "anchor" && each.authority.names !== undefined,
      );
    expect([namesWith("/nowhere/cacerts"), namesWith(import.meta.path)]).toEqual([[true], [false]]);
  });
});
