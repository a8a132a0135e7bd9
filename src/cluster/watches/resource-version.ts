/** Whether the first version of an object is older than the second. Versions are numbers; of others nothing is known. */
export function isOlderVersion(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined || !isNumber(one) || !isNumber(other)) return false;
  // Longer than a number of JavaScript may be.
  return BigInt(one) < BigInt(other);
}

function isNumber(version: string): boolean {
  return /^\d+$/.test(version);
}
