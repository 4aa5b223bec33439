import type { MxRecord } from '../../platform/resolver.ts'
import { providerOf } from './mx-provider.ts'

/** A domain may name any number of hosts. */
const maxNames = 10
const site = 'site:'
const providers = 'provider:'

/**
 * The group of a destination: those in it are served by the same hosts, so what one of these says of us holds for all. `provider:` and
 * who runs all the hosts of best preference; or `site:` and their names; or `site:` and the domain, if it has no MX record. Never by
 * address, because providers move.
 */
export function destinationGroup(destination: string, mx: readonly MxRecord[]): string {
  const best = mx.reduce((least, { preference }) => Math.min(least, preference), Infinity)
  const names = mx.flatMap(({ preference, exchange }) => (preference === best ? [nameOf(exchange)] : []))
  if (names.length === 0) return site + destination
  const [provider, ...others] = new Set(names.map(groupOfProvider))
  if (provider && others.length === 0) return provider
  return site + [...new Set(names)].toSorted().slice(0, maxNames).join(' ')
}

/** The id of the provider that a group is of; null: it is of none. */
export const providerOfGroup = (group: string): string | null => (group.startsWith(providers) ? group.slice(providers.length) : null)

/** Whether this host is one of the group's: a domain may name a host of its own beside those of a provider. */
export const isOfGroup = (mxHost: string, group: string): boolean =>
  group.startsWith(site) ? group.slice(site.length).split(' ').includes(nameOf(mxHost)) : groupOfProvider(mxHost) === group

const nameOf = (exchange: string): string => exchange.toLowerCase().replace(/\.$/, '')

function groupOfProvider(name: string): string | undefined {
  const provider = providerOf(name)
  return provider && providers + provider.id
}
