/** The certificates of ClusterTrustBundles, as a volume shows them. */
import type { ClusterTrustBundle, TrustBundleSelection } from '../../types/kubernetes.ts';
import { matchesSelector } from '../formats/label-selector.ts';

const BLOCK = /^-----BEGIN ([^\n-]*)-----[ \t\r]*\n([^-]*)^-----END \1-----/gmu;
const BASE64 = /^[\d+/A-Za-z]*={0,2}$/u;
const COLUMNS = 64;

/** The bundle of that name, or the bundles of the signer that the selector selects. */
export function selectedBundles(
  bundles: readonly ClusterTrustBundle[],
  { name, signerName, labelSelector }: TrustBundleSelection,
): readonly ClusterTrustBundle[] {
  return bundles.filter(({ metadata, spec }) =>
    name === undefined
      ? spec.signerName === signerName && matchesSelector(labelSelector, metadata?.labels)
      : metadata?.name === name,
  );
}

/**
 * All certificates in PEM, each once. As with the kubelet, what stands around and inside the blocks is left out, and the order has no
 * meaning; it is always the same, so that the file is only written when a certificate comes or goes.
 */
export function trustAnchors(bundles: readonly ClusterTrustBundle[]): string {
  const anchors = new Set(bundles.flatMap(({ spec }) => blocksOf(spec.trustBundle)));
  return [...anchors].sort().map(pemOf).join('');
}

/** The contents of the PEM blocks, in base64. */
function blocksOf(text: string): string[] {
  return Array.from(text.replaceAll('\r\n', '\n').matchAll(BLOCK), ([, , body = '']) =>
    body.replaceAll(/\s/gu, ''),
  ).filter((body) => body !== '' && body.length % 4 === 0 && BASE64.test(body));
}

function pemOf(base64: string): string {
  const lines = base64.match(new RegExp(`.{1,${COLUMNS}}`, 'gu')) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
