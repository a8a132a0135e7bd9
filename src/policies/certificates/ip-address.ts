/** Texts of IP addresses in one form, so that they can be compared. */

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** The shortest text of the address, as Go and URLs write it; undefined for a text that is no IP address. */
export function canonicalIP(text: string): string | undefined {
  if (!text.includes(':')) return IPV4.test(text) ? canonicalIPv4(text) : undefined;
  if (!/^[\da-f:.]+$/i.test(text)) return undefined;
  const url = `http://[${text}]/`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : undefined;
}

/** Leading zeros do not make a number octal, as in the kubelet. */
function canonicalIPv4(text: string): string | undefined {
  const parts = text.split('.').map(Number);
  return parts.every((part) => part <= 255) ? parts.join('.') : undefined;
}
