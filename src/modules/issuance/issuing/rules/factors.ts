/** Rounds of Fermat's method: keys of a broken generator (CVE-2022-26320) fall at the first, good ones never. */
const ROUNDS = 100;

/** True for a product of two numbers so close to each other that Fermat's method finds them. */
export function hasCloseFactors(modulus: bigint) {
  let middle = rootOf(modulus);
  if (middle * middle < modulus) middle += 1n;
  for (let round = 0; round < ROUNDS; round++, middle += 1n) if (isSquare(middle * middle - modulus)) return true;
  return false;
}

/** The remainders of squares modulo these: few other numbers get past. */
const SIEVE = [64n, 63n, 65n, 11n].map((modulus) => {
  const rests = Array.from({ length: Number(modulus) }, (_, number) => (BigInt(number) * BigInt(number)) % modulus);
  return { modulus, rests: new Set(rests) };
});

function isSquare(number: bigint) {
  if (!SIEVE.every(({ modulus, rests }) => rests.has(number % modulus))) return false;
  const root = rootOf(number);
  return root * root === number;
}

/** The whole part of a square root, by Newton's method from above. */
function rootOf(number: bigint) {
  if (number < 2n) return number;
  let root = 1n << BigInt((number.toString(16).length * 4 + 1) >> 1);
  for (;;) {
    const next = (root + number / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}
