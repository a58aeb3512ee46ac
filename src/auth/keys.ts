import { timingSafeEqual } from "node:crypto";

const digest = (key: string) => new Bun.CryptoHasher("sha256").update(key).digest();

/** The key of `Authorization: Bearer …`. It may hold what a token may not, such as spaces. */
export const bearerKey = ({ headers }: Request) => /^bearer +([^ ].*)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1];

/** Returns the check whether a text is one of the keys. Every key is compared, each in constant time. */
export function createKeyCheck(keys: string[]) {
  const digests = keys.map(digest);
  return (given: string | null | undefined) => {
    const own = digest(given ?? "");
    return digests.filter((each) => timingSafeEqual(each, own)).length > 0;
  };
}
