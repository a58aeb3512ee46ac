import { afterAll, beforeAll, describe, setDefaultTimeout } from "bun:test";
import { existsSync } from "node:fs";
import { requestsTrusts, urllibTrusts, variablesIn } from "../../support/consumers";
import { newParties, type Parties, put, testConduct } from "../../support/store-conduct";

setDefaultTimeout(60_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

describe("ssl_cert_file_env", () => {
  testConduct("ssl_cert_file_env", () => parties, {
    storeType: "ssl_cert_file_env",
    config: ({ pathOf }) => ({ envFilePath: pathOf("etc/environment") }),
    prepare: ({ pathOf }) => put(pathOf("etc/environment"), "LANG=C.UTF-8\n# no end of line"),
    isTrusting: async ({ pathOf }, url) => urllibTrusts(url, await variablesIn(pathOf("etc/environment"))),
    keepsRoots: true,
    spoil: ({ pathOf }) => [pathOf("etc/environment"), pathOf("etc/environment.ssl_cert_file_env.pem")],
    elsewhere: ({ pathOf }) => ({ envFilePath: pathOf("etc/environment"), trustStorePath: pathOf("a place/bundle.pem") }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("a place/bundle.pem")) && !existsSync(pathOf("etc/environment.ssl_cert_file_env.pem")),
  });
});

describe("python_requests_ca_bundle", () => {
  testConduct("python_requests_ca_bundle", () => parties, {
    storeType: "python_requests_ca_bundle",
    config: ({ pathOf }) => ({ envFilePath: pathOf("venv/bin/activate"), certFileName: "ca.pem" }),
    prepare: ({ pathOf }) => put(pathOf("venv/bin/activate"), "# This file must be used with source\nVIRTUAL_ENV=/x\nexport VIRTUAL_ENV\n"),
    isTrusting: async ({ pathOf }, url) => requestsTrusts(url, await variablesIn(pathOf("venv/bin/activate"))),
    keepsRoots: true,
    spoil: ({ pathOf }) => [pathOf("venv/bin/activate"), pathOf("venv/bin/ca.pem")],
    elsewhere: ({ pathOf }) => ({ envFilePath: pathOf("venv/bin/activate"), certFileName: "other's.pem" }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("venv/bin/other's.pem")),
  });
});
