/**
 * A message about a volume or a variable as golden vectors have it: without our additions to the kubelet's words. Their client of the API server
 * names objects by their resource, unlike the kubelet's caches.
 */
export function kubeletsText(message: string): string {
  return message
    .replaceAll(/ \(there (?:are|is): [^)]*\)/g, '')
    .replace(/^(couldn't parse env file): .*$/s, '$1')
    .replaceAll(/\b(configmap|secret) (?="[^"]*" not found)/g, '$1s ');
}
