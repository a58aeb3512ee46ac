/** Keys of Infineon's RSALib (CVE-2017-15361): modulo each of these primes, such a modulus is a power of 65537. */
const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163,
  167,
];

const powersModulo = (prime: number) => {
  const powers = new Set<bigint>();
  for (let power = 1n; !powers.has(power); power = (power * 65_537n) % BigInt(prime)) powers.add(power);
  return { prime: BigInt(prime), powers };
};
const FINGERPRINT = PRIMES.map(powersModulo);

/** True for a modulus with the fingerprint of ROCA; a random one has it once in 2^27. */
export const hasRocaFingerprint = (modulus: bigint) => FINGERPRINT.every(({ prime, powers }) => powers.has(modulus % prime));
