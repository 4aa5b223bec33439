import { rootCertificates } from 'node:tls'
import type { Config } from '../../platform/config/settings.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { FetchPlaces } from '../mta-sts/fetch-places.ts'
import { fetchStsPolicy, type Fetched } from '../mta-sts/fetch-sts-policy.ts'
import { whyForbidden } from './address-guard.ts'
import { deliveryOptions } from './delivery-options.ts'
import type { DeliveryOptions } from './delivery-threads.ts'

/** Fetches MTA-STS policies, with the guards and the authorities of delivery, which are read at the first fetch. */
export function policyFetcher(config: Config, resolver: Resolver, port = 443): (domain: string) => Promise<Fetched> {
  let options: DeliveryOptions | undefined
  const places = new FetchPlaces(async (domain, signal) => {
    try {
      const { extraAuthorities = [], ...guard } = (options ??= deliveryOptions(config))
      const authorities = extraAuthorities.length > 0 ? [...rootCertificates, ...extraAuthorities] : undefined
      const mayConnect = (address: string): boolean => whyForbidden(address, port, guard) === null
      return await fetchStsPolicy(domain, { resolver, mayConnect }, { port, authorities, signal })
    } catch (error) {
      return { fault: { type: 'sts-policy-fetch-error', reason: messageOf(error) } }
    }
  })
  return (domain) => places.fetch(domain)
}
