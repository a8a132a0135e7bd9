/** Sizes of huge pages, as cgroups and resources call them. */
import { parseQuantity, quantityValue } from '../formats/quantity.ts';
import type { ResourceList } from './resources.ts';

const RESOURCE_PREFIX = 'hugepages-';
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** `2MB`: what cgroups and CRI call a page of that size. */
export function hugePageSizeName(bytes: number): string {
  const unit = Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  return `${bytes / 1024 ** unit}${UNITS[unit] ?? ''}`;
}

/** Bytes of huge pages by the name of their size. Throws what `parseQuantity` throws. */
export function hugePageLimits(limits: ResourceList | undefined): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [resource, amount] of Object.entries(limits ?? {})) {
    if (!resource.startsWith(RESOURCE_PREFIX)) continue;
    const pageSize = Number(quantityValue(parseQuantity(resource.slice(RESOURCE_PREFIX.length))));
    if (pageSize > 0) found.set(hugePageSizeName(pageSize), Number(quantityValue(parseQuantity(amount))));
  }
  return found;
}
