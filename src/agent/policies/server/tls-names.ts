/** Go's names for what a TLS server offers, in the names of OpenSSL. */

const VERSIONS: ReadonlyMap<string, 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'> = new Map([
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

/** Suites of TLS 1.3. As in Go, they are offered whatever is set. */
const SUITES_13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

const SUITES: ReadonlyMap<string, string> = new Map([
  ...SUITES_13.map((name) => [name, name] as const),
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'ECDHE-ECDSA-AES128-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'ECDHE-ECDSA-AES256-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
]);

/** Suites that Go knows and OpenSSL has no more. */
const GONE = /RC4|3DES/u;

/** Go's `CurveID`s. */
const CURVES: ReadonlyMap<number, string> = new Map([
  [23, 'prime256v1'],
  [24, 'secp384r1'],
  [25, 'secp521r1'],
  [29, 'X25519'],
  [4587, 'SecP256r1MLKEM768'],
  [4588, 'X25519MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
]);

export interface TLSNames {
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences: readonly number[];
}

/** Options of a TLS server; what is left out is the server's own choice. */
export interface TLSChoice {
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  readonly ciphers?: string;
  readonly ecdhCurve?: string;
}

/** The names must be known. */
export function tlsChoice({ tlsMinVersion, tlsCipherSuites, tlsCurvePreferences }: TLSNames): TLSChoice {
  const suites = tlsCipherSuites.flatMap((name) => SUITES.get(name) ?? []);
  const curves = tlsCurvePreferences.flatMap((id) => CURVES.get(id) ?? []);
  return {
    minVersion: VERSIONS.get(tlsMinVersion) ?? 'TLSv1.2',
    ...(suites.length > 0 && { ciphers: [...new Set([...SUITES_13, ...suites])].join(':') }),
    ...(curves.length > 0 && { ecdhCurve: curves.join(':') }),
  };
}

/** The end of the sentence "must be …" for a name that is not known. */
export function minVersionProblem(name: string): string | undefined {
  return name === '' || VERSIONS.has(name) ? undefined : `one of ${[...VERSIONS.keys()].join(', ')}`;
}

export function cipherSuitesProblem(names: readonly string[]): string | undefined {
  const wrong = names.find((name) => !SUITES.has(name));
  if (wrong === undefined) return undefined;
  const whole =
    'a list of suites that this machine has, by the names of Go (TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, …)';
  return GONE.test(wrong)
    ? `${whole}; ${wrong} is broken, and no longer offered`
    : `${whole}; ${wrong} is unknown`;
}

export function curvesProblem(ids: readonly number[]): string | undefined {
  const wrong = ids.find((id) => !CURVES.has(id));
  if (wrong === undefined) return undefined;
  const known = Array.from(CURVES, ([id, name]) => `${id} (${name})`);
  return `a list of ${known.join(', ')}; ${wrong} is unknown`;
}
