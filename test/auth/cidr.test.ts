import { describe, expect, test } from "bun:test";
import { coveredFamilies, inNetworks, readNetworks } from "#auth/cidr";
import { ConfigError, readConfig } from "#config";
import { environment, world } from "../support/server/world";

const UNREADABLE = [
  "*",
  "0.0.0.0/0",
  "10.0.0.0/0",
  "::/0",
  "fd00::/0",
  "::ffff:0.0.0.0/96",
  "localhost",
  "gateway.example",
  "10.0.0.0/33",
  "10.0.0.0/-1",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "10.0.0",
  "10.1",
  "127.1/8",
  "010.0.0.0/8",
  "010.0.0.1",
  "0x7f.0.0.1",
  "0x7f.0.0.1/8",
  "2130706433",
  "::1/129",
  ":::1",
  "::10.0.0.1",
  "::10.0.0.0/104",
  "10.0.0.1-10.0.0.9",
  "10.0.0.1:80",
  "[::1]",
];

describe("readNetworks", () => {
  test.each(UNREADABLE)("%j names no network, or the whole world", (entry) => {
    expect(readNetworks(entry)).toEqual({ networks: [], unreadable: [entry] });
    expect(readNetworks(`10.0.0.1,${entry} , ::1`).unreadable).toEqual([entry]);
    expect(() => readConfig({ ...environment, DATA_DIR: world.directory, TRUSTED_GATEWAYS: `127.0.0.1, ${entry}` })).toThrow(
      new ConfigError([`TRUSTED_GATEWAYS: "${entry}" is not an address or a CIDR block that names some machines and not all.`]),
    );
  });

  test("a list may have spaces and empty entries", () => {
    const { networks, unreadable } = readNetworks(" 10.0.0.0/8 ,, ::1,");
    expect(networks.map(([address, bits]) => `${address}/${bits}`)).toEqual(["10.0.0.0/8", "::1/128"]);
    expect(unreadable).toEqual([]);
  });
});

describe("coveredFamilies", () => {
  test.each([
    ["0.0.0.0/1,128.0.0.0/1", ["IPv4"]],
    ["128.0.0.0/1, 10.0.0.0/8, 0.0.0.0/1", ["IPv4"]],
    ["0.0.0.0/2,64.0.0.0/2,128.0.0.0/2,192.0.0.0/2", ["IPv4"]],
    ["0.0.0.0/1,128.0.0.0/2,192.0.0.0/3", ["IPv4"]],
    ["::ffff:0.0.0.0/97,::ffff:128.0.0.0/97", ["IPv4"]],
    ["0.0.0.0/1,::ffff:128.0.0.0/97", ["IPv4"]],
    ["::/1,8000::/1", ["IPv6"]],
    ["::/1", ["IPv6"]],
    ["2000::/3", ["IPv6"]],
    ["2000::/4,3000::/4", ["IPv6"]],
    ["0.0.0.0/1,128.0.0.0/1,2000::/3", ["IPv4", "IPv6"]],
    ["", []],
    ["0.0.0.0/1", []],
    ["0.0.0.0/1,128.0.0.0/2", []],
    ["0.0.0.0/1,128.0.0.0/2,192.0.0.0/4,208.0.0.0/5", []],
    ["0.0.0.0/2,128.0.0.0/1", []],
    ["8000::/1,2000::/4", []],
    ["10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7", []],
    ["127.0.0.1,::1", []],
  ])("%j: %j", (list, families) => {
    expect(coveredFamilies(readNetworks(list).networks)).toEqual(families);
  });

  test("stop the start in a sentence each", () => {
    const config = () => readConfig({ ...environment, DATA_DIR: world.directory, TRUSTED_GATEWAYS: "0.0.0.0/1,128.0.0.0/1,::/1,8000::/1" });
    const sentence = (family: string) => `TRUSTED_GATEWAYS: together its networks cover every ${family} address. Name the gateways alone.`;
    expect(config).toThrow(new ConfigError([sentence("IPv4"), sentence("IPv6")]));
  });
});

describe("inNetworks", () => {
  test.each([
    ["10.1.2.3", "10.0.0.0/8", true],
    ["11.1.2.3", "10.0.0.0/8", false],
    ["10.1.2.3", "10.9.9.9/8", true],
    ["10.0.0.1", "10.0.0.1", true],
    ["10.0.0.2", "10.0.0.1", false],
    ["10.0.0.1", "10.0.0.0/31", true],
    ["::ffff:10.0.0.1", "10.0.0.0/8", true],
    ["::ffff:a00:1", "10.0.0.0/8", true],
    ["::ffff:11.0.0.1", "10.0.0.0/8", false],
    ["10.0.0.1", "::ffff:10.0.0.1", true],
    ["10.0.0.1", "::ffff:10.0.0.0/104", true],
    ["11.0.0.1", "::ffff:10.0.0.0/104", false],
    ["10.0.0.1", "::1/1", false],
    ["::10.0.0.1", "10.0.0.0/8", false],
    ["64:ff9b::10.0.0.1", "10.0.0.0/8", false],
    ["::1", "::1", true],
    ["0:0:0:0:0:0:0:1", "::1", true],
    ["::2", "::1", false],
    ["127.0.0.1", "::1", false],
    ["::1", "127.0.0.0/8", false],
    ["fd12::3", "fd00::/8", true],
    ["fe80::1", "fd00::/8", false],
    ["255.255.255.255", "128.0.0.0/1", true],
    ["nonsense", "10.0.0.0/8", false],
    ["", "10.0.0.0/8", false],
  ])("%s in %s: %p", (address, list, expected) => {
    expect(inNetworks(address, readNetworks(list).networks)).toBe(expected);
  });

  test("nobody is in no network", () => {
    expect(inNetworks("127.0.0.1", [])).toBe(false);
  });
});
