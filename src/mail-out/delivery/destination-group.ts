import type { MxRecord } from '../../platform/resolver.ts'
import { providerOf } from './mx-provider.ts'

/** A domain may name any number of hosts. */
const maxNames = 10

/**
 * The group of a destination: those in it are served by the same hosts, so what one of these says of us holds for all. `provider:` and
 * who runs the hosts of best preference; or `site:` and their names; or `site:` and the domain, if it has no MX record. Never by address,
 * because providers move.
 */
export function destinationGroup(destination: string, mx: readonly MxRecord[]): string {
  const best = mx.reduce((least, { preference }) => Math.min(least, preference), Infinity)
  const names = mx.flatMap(({ preference, exchange }) => (preference === best ? [exchange.toLowerCase().replace(/\.$/, '')] : []))
  const provider = names
    .toSorted()
    .map(providerOf)
    .find((found) => found !== undefined)
  if (provider) return `provider:${provider.id}`
  return `site:${names.length === 0 ? destination : [...new Set(names)].toSorted().slice(0, maxNames).join(' ')}`
}
