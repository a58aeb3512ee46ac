import { describe, expect, test } from "bun:test";
import { readNames } from "#modules/issuance/issuing/rules/names";
import { DEFAULT_POLICY, findPolicyFault, type IssuancePolicy, readPolicy } from "#modules/issuance/issuing/rules/policy";

function judge(policy: Partial<IssuancePolicy>, names: string[], key = { algorithm: "ecdsa-p256", location: "server" as const }) {
  const read = readPolicy({ ...DEFAULT_POLICY, ...policy });
  const asked = readNames(names, "names");
  if ("invalid" in read || "invalid" in asked) throw new Error("the test is wrong");
  return findPolicyFault(read, { names: asked.names, key });
}

const not = (name: string) => `body.names has ${name}, which the issuance policy of the organization does not allow.`;

describe("findPolicyFault", () => {
  test("has nothing against anything by default", () => {
    expect(judge({}, ["a.example", "*.a.example", "192.0.2.1"])).toBeUndefined();
  });

  test.each([
    [["example.org"], "example.org", true],
    [["example.org"], "www.example.org", false],
    [["example.org"], "*.example.org", false],
    [["*.example.org"], "www.example.org", true],
    [["*.example.org"], "a.b.example.org", true],
    [["*.example.org"], "*.example.org", true],
    [["*.example.org"], "*.b.example.org", true],
    [["*.example.org"], "example.org", false],
    [["*.example.org"], "notexample.org", false],
    [["*.BÜCHER.example"], "www.bücher.example", true],
    [[], "example.org", false],
  ])("of domains %j: %s %p", (allowedDomains, name, isAllowed) => {
    expect(judge({ allowedDomains }, [name]) === undefined).toBe(isAllowed);
  });

  test.each([
    [["10.0.0.0/8"], "10.1.2.3", true],
    [["10.0.0.0/8"], "11.1.2.3", false],
    [["192.0.2.1"], "192.0.2.1", true],
    [["192.0.2.1"], "192.0.2.2", false],
    [["2001:db8::/32"], "2001:db8::1", true],
    [["2001:db8::/32"], "10.0.0.1", false],
    [["2001:db8::5"], "2001:db8::5", true],
    [["::/0"], "2001:db8::1", true],
    [["::/0"], "10.0.0.1", false],
    [["::/0"], "::ffff:10.0.0.1", false],
    [["::ffff:0:0/90"], "10.0.0.1", false],
    [["0.0.0.0/0"], "10.0.0.1", true],
    [["0.0.0.0/0"], "::ffff:10.0.0.1", true],
    [["0.0.0.0/0"], "2001:db8::1", false],
    [["::ffff:10.0.0.0/104"], "10.1.2.3", true],
    [["::ffff:10.0.0.0/104"], "11.1.2.3", false],
    [["::ffff:192.0.2.1"], "192.0.2.1", true],
  ])("of addresses %j: %s %p", (allowedAddresses, name, isAllowed) => {
    expect(judge({ allowedAddresses }, [name]) === undefined).toBe(isAllowed);
  });

  test("names the first name, key and place that it does not allow", () => {
    expect(judge({ allowedDomains: ["a.example"] }, ["a.example", "b.example"])).toBe(not("b.example"));
    expect(judge({ allowedKeyAlgorithms: ["rsa-3072"] }, ["a.example"])).toBe(
      "The issuance policy of the organization allows keys of rsa-3072, not ecdsa-p256.",
    );
    expect(judge({ allowedKeyLocations: ["agent"] }, ["a.example"])).toBe("The issuance policy of the organization allows keys at agent, not at server.");
  });
});

test.each([
  [{ allowedDomains: ["a.example", "x y"] }, "body.allowedDomains[1] must be a DNS name or an IP address."],
  [{ allowedDomains: ["192.0.2.1"] }, "body.allowedDomains[0] must be a DNS name."],
  ...["010.0.0.0/8", "0x0a.0.0.0/8", "10.1/16", "167772160/8", "::10.0.0.0/104", "fe80::1%eth0", "0127.0.0.1", "127.1"].map(
    (each) =>
      [{ allowedAddresses: [each] }, "body.allowedAddresses[0] must be an IP address or a network such as 10.0.0.0/8."] as [Partial<IssuancePolicy>, string],
  ),
  [{ allowedAddresses: ["10.0.0.0/33"] }, "body.allowedAddresses[0] must be an IP address or a network such as 10.0.0.0/8."],
])("readPolicy refuses %j", (policy, invalid) => {
  expect(readPolicy({ ...DEFAULT_POLICY, ...policy })).toEqual({ invalid });
});
