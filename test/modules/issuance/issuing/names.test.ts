import { describe, expect, test } from "bun:test";
import { hashNames, readName, readNames } from "#modules/issuance/issuing/rules/names";

describe("readName", () => {
  test.each([
    ["www.Example.com", "dns", "www.example.com"],
    ["example.com.", "dns", "example.com"],
    ["Bücher.example", "dns", "xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "dns", "xn--bcher-kva.example"],
    ["例え。jp", "dns", "xn--r8jz45g.jp"],
    ["ＷＷＷ.example.com", "dns", "www.example.com"],
    ["faß.example", "dns", "xn--fa-hia.example"],
    ["*.example.com", "dns", "*.example.com"],
    ["*.bücher.example", "dns", "*.xn--bcher-kva.example"],
    ["db1", "dns", "db1"],
    ["db1.internal", "dns", "db1.internal"],
    ["example.github.io", "dns", "example.github.io"],
    ["192.0.2.1", "ip", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "ip", "2001:db8::1"],
    ["::ffff:192.0.2.1", "ip", "192.0.2.1"],
    ["::", "ip", "::"],
    ["2001:db8::1:0:0:1", "ip", "2001:db8::1:0:0:1"],
  ])("takes %s", (given, type, value) => {
    expect<unknown>(readName(given)).toEqual({ type, value });
  });

  test.each([
    ["", "must be a DNS name or an IP address"],
    ["a b.example", "must be a DNS name or an IP address"],
    ["a_b.example", "must be a DNS name or an IP address"],
    ["-a.example", "must be a DNS name or an IP address"],
    ["a..example", "must be a DNS name or an IP address"],
    ["a.example..", "must be a DNS name or an IP address"],
    ["https://a.example", "must be a DNS name or an IP address"],
    ["a.example:443", "must be a DNS name or an IP address"],
    ["a.example/x", "must be a DNS name or an IP address"],
    ["a%62c.example", "must be a DNS name or an IP address"],
    ["user@a.example", "must be a DNS name or an IP address"],
    ["a\0b.example", "must be a DNS name or an IP address"],
    ["xn--zzzzz-.example", "must be a DNS name or an IP address"],
    ["1.2.3", "must be a DNS name or an IP address"],
    ["0x7f.1", "must be a DNS name or an IP address"],
    ["[2001:db8::1]", "must be a DNS name or an IP address"],
    [`${"a".repeat(64)}.example`, "must be a DNS name or an IP address"],
    [`${"a.".repeat(126)}example`, "must be a DNS name of at most 253 characters"],
    ["fe80::1%eth0", "must be an address without a zone"],
    ["www.*.example", "may have a * only as the whole of its leftmost label, as in *.example.com"],
    ["w*.example", "may have a * only as the whole of its leftmost label, as in *.example.com"],
    ["*.*.example", "may have a * only as the whole of its leftmost label, as in *.example.com"],
    ["*", "may have a * only as the whole of its leftmost label, as in *.example.com"],
    ["com", "must not be the public suffix com"],
    ["co.uk", "must not be the public suffix co.uk"],
    ["*.co.uk", "must not be a wildcard of the public suffix co.uk"],
  ])("refuses %j", (given, fault) => {
    expect<unknown>(readName(given)).toEqual({ fault });
  });
});

test("readNames leaves out what is named twice, and names the first fault", () => {
  expect(readNames(["a.example", "A.example.", "192.0.2.1"], "body.names")).toEqual({
    names: [
      { type: "dns", value: "a.example" },
      { type: "ip", value: "192.0.2.1" },
    ],
  });
  expect(readNames(["a.example", "com"], "body.names")).toEqual({ invalid: "body.names[1] must not be the public suffix com." });
});

test("hashNames is the same in any order", () => {
  const [a, b] = [{ type: "dns", value: "a.example" } as const, { type: "ip", value: "192.0.2.1" } as const];
  expect(hashNames([a, b])).toBe(hashNames([b, a]));
  expect(hashNames([a])).not.toBe(hashNames([a, b]));
});
